/* What vertigrad_cuda/library.py calls. Results below 0 are VkResults, or the codes of layer.h. */
#include <string.h>

#include "layer.h"

typedef struct { /* the same in library.py */
    uint64_t id;
    uint8_t uuid[VK_UUID_SIZE];
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    uint32_t exports_memory, exports_semaphores;
} DeviceReport;

typedef struct { /* the same in library.py */
    uint64_t devices, memories, bytes, exports;
} StatisticsReport;

EXPORTED int vertigrad_last_device(DeviceReport *out) {
    Device *device = hold_device(last_device);
    if (!device) return NO_DEVICE;
    *out = (DeviceReport){.id = device->id, .exports_memory = device->exports_memory,
                          .exports_semaphores = device->exports_semaphores};
    memcpy(out->uuid, device->uuid, sizeof out->uuid);
    memcpy(out->name, device->name, sizeof out->name);
    release_device();
    return 0;
}

EXPORTED void vertigrad_mark(int on) {
    if (!on) {
        marking--;
        return;
    }
    marking++;
    last_buffer = (BufferReport){0};
}

EXPORTED int vertigrad_last_buffer(BufferReport *out) {
    *out = last_buffer;
    return last_buffer.exists ? 0 : NO_MEMORY;
}

EXPORTED int vertigrad_export(uint64_t memory) {
    int result = NO_MEMORY;
    pthread_rwlock_rdlock(&registry);
    for (Device *each = devices; each && result == NO_MEMORY; each = each->next) result = export_memory(each, memory);
    pthread_rwlock_unlock(&registry);
    return result;
}

EXPORTED void vertigrad_statistics(StatisticsReport *out) {
    *out = (StatisticsReport){.exports = __atomic_load_n(&exports, __ATOMIC_RELAXED)};
    pthread_rwlock_rdlock(&registry);
    for (Device *each = devices; each; each = each->next) {
        pthread_mutex_lock(&each->buffer_lock);
        out->devices++, out->memories += each->count, out->bytes += each->bytes;
        pthread_mutex_unlock(&each->buffer_lock);
    }
    pthread_rwlock_unlock(&registry);
}

EXPORTED int vertigrad_semaphore(uint64_t device, int which) {
    Device *held = hold_device(device);
    if (!held) return NO_DEVICE;
    int result = export_semaphore(held, which);
    release_device();
    return result;
}

/* Submit a signal (else a wait), after what the application has submitted and before what it will submit. */
EXPORTED int vertigrad_submit(uint64_t device, int which, uint64_t value, int signal) {
    Device *held = hold_device(device);
    if (!held) return NO_DEVICE;
    int result = submit_semaphore(held, which, value, signal);
    release_device();
    return result;
}

/* For tests on software drivers: the placeholders that a GPU with memory of its own gets. */
EXPORTED void vertigrad_small_placeholders(int on) { small_placeholders = on; }
