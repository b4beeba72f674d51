/* VK_LAYER_VERTIGRAD_cuda: gives marked buffers exportable memory of their own, so that CUDA can import them.
 *
 *   instance.c  creation of instances and devices; what the Vulkan loader calls
 *   buffers.c   creation, binding and destruction of buffers
 *   queue.c     calls on queues, one at a time; exported timeline semaphores
 *   python.c    the functions that vertigrad_cuda/library.py declares
 *
 * Locks, in the order in which they may be taken: `registry` (the lists of instances and devices), then of a device
 * `buffer_lock` (its table of exportable buffers) or `queue_lock` (a VkQueue may be used by one thread at a time). */
#ifndef VERTIGRAD_LAYER_H
#define VERTIGRAD_LAYER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>
#include <vulkan/vk_layer.h>

#define EXPORTED __attribute__((visibility("default")))
#define MEMORY_FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define SEMAPHORE_FD VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
/* The loader's dispatch table: the same for an instance and its physical devices, for a device and its queues. */
#define KEY(handle) (*(void **)(handle))
#define BUCKETS 256

typedef struct Instance {
    struct Instance *next;
    void *key;
    VkInstance handle;
    uint32_t api_version;
    PFN_vkGetInstanceProcAddr get_proc;
    PFN_vkDestroyInstance DestroyInstance;
    PFN_vkEnumerateDeviceExtensionProperties EnumerateDeviceExtensionProperties;
    PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2;
    PFN_vkGetPhysicalDeviceMemoryProperties GetPhysicalDeviceMemoryProperties;
    PFN_vkGetPhysicalDeviceExternalBufferProperties GetPhysicalDeviceExternalBufferProperties;
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties GetPhysicalDeviceExternalSemaphoreProperties;
} Instance;

/* The functions of the next layer, or the driver. Those that a device lacks are NULL. */
#define INTERCEPTED(X) \
    X(DestroyDevice) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements) X(GetBufferMemoryRequirements2) \
    X(BindBufferMemory) X(BindBufferMemory2) X(GetDeviceQueue) X(GetDeviceQueue2) X(QueueSubmit) X(QueueSubmit2) \
    X(QueueBindSparse) X(QueuePresentKHR) X(QueueWaitIdle) X(DeviceWaitIdle)
#define CALLED(X) \
    X(AllocateMemory) X(FreeMemory) X(GetMemoryFdKHR) X(CreateSemaphore) X(DestroySemaphore) X(GetSemaphoreFdKHR)

typedef struct Shared { /* a buffer with exportable memory of its own */
    struct Shared *next;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t id; /* of the memory: unlike handles, ids are not used again */
    VkMemoryRequirements needs;
    VkMemoryRequirements answer; /* what the application's allocator is given instead */
    bool dedicated;
} Shared;

typedef struct Device {
    struct Device *next;
    void *key;
    VkDevice handle;
    VkPhysicalDevice physical;
    uint64_t id;
    PFN_vkGetDeviceProcAddr get_proc;
    PFN_vkGetPhysicalDeviceExternalBufferProperties external_buffers;
    VkPhysicalDeviceMemoryProperties memory;
    uint8_t uuid[VK_UUID_SIZE];
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    bool exports_memory, exports_semaphores;

    pthread_mutex_t buffer_lock;
    Shared *shared[BUCKETS];
    uint64_t count, bytes;

    pthread_mutex_t queue_lock;
    VkQueue queue; /* the first that the application asked for */
    VkSemaphore semaphores[2];
    uint64_t signaled[2];
    bool submitted;

#define X(f) PFN_vk##f f;
    INTERCEPTED(X) CALLED(X)
#undef X
} Device;

typedef struct { /* a buffer that was created inside `exportable()`; the same in library.py */
    uint64_t memory, size, memory_size, offset;
    uint32_t exportable, dedicated, exists;
} BufferReport;

extern pthread_rwlock_t registry;
extern Device *devices;
extern uint64_t exports; /* so far, of all devices */
extern bool small_placeholders;
extern __thread uint64_t last_device; /* its id */
extern __thread unsigned marking;     /* depth of `exportable()` */
extern __thread BufferReport last_buffer;

Device *find_device(void *key);        /* NULL if this layer was not there when it was created */
Device *hold_device(uint64_t id);      /* with `registry` locked until release_device, so it is not destroyed */
void release_device(void);
bool is_chained(const void *chain, VkStructureType type);

void free_shared(Device *device);      /* all memories that buffers have left */
int export_memory(Device *device, uint64_t id); /* an fd, a VkResult, or NO_MEMORY if it is not this device's */
int export_semaphore(Device *device, int which);
int submit_semaphore(Device *device, int which, uint64_t value, bool signal); /* else wait */

#define X(f) PFN_vk##f get_##f(void);
INTERCEPTED(X)
#undef X

enum { /* what python.c returns besides VkResult; the same in library.py */
    NO_DEVICE = -100001,
    NO_MEMORY = -100002,
    NO_EXPORT = -100003,
    NO_QUEUE = -100004,
    BAD_VALUE = -100005,
};

#endif
