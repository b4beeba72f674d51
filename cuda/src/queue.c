/* Calls on queues, one thread at a time: this layer submits too, which the application's own lock does not know. */
#include "layer.h"

/* The first queue is where this layer submits. wgpu asks for one queue only. */
static void remember(Device *device, VkQueue queue) {
    pthread_mutex_lock(&device->queue_lock);
    if (!device->queue) device->queue = queue;
    pthread_mutex_unlock(&device->queue_lock);
}

static void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out) {
    Device *device = find_device(KEY(handle));
    if (!device) return;
    device->GetDeviceQueue(handle, family, index, out);
    remember(device, *out);
}

static void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out) {
    Device *device = find_device(KEY(handle));
    if (!device) return;
    device->GetDeviceQueue2(handle, info, out);
    remember(device, *out);
}

/* A function of a queue or device: `result` of calling the next one, with the queues locked. */
#define LOCKED(handle, call) \
    Device *device = find_device(KEY(handle)); \
    if (!device) return VK_ERROR_INITIALIZATION_FAILED; \
    pthread_mutex_lock(&device->queue_lock); \
    VkResult result = device->call; \
    pthread_mutex_unlock(&device->queue_lock); \
    return result;

static VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    LOCKED(queue, QueueSubmit(queue, count, infos, fence))
}

static VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
    LOCKED(queue, QueueSubmit2(queue, count, infos, fence))
}

static VkResult VKAPI_CALL QueueBindSparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                           VkFence fence) {
    LOCKED(queue, QueueBindSparse(queue, count, infos, fence))
}

static VkResult VKAPI_CALL QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info) {
    LOCKED(queue, QueuePresentKHR(queue, info))
}

static VkResult VKAPI_CALL QueueWaitIdle(VkQueue queue) { LOCKED(queue, QueueWaitIdle(queue)) }

static VkResult VKAPI_CALL DeviceWaitIdle(VkDevice handle) { LOCKED(handle, DeviceWaitIdle(handle)) }

#define X(f) PFN_vk##f get_##f(void) { return f; }
X(GetDeviceQueue)
X(GetDeviceQueue2)
X(QueueSubmit)
X(QueueSubmit2)
X(QueueBindSparse)
X(QueuePresentKHR)
X(QueueWaitIdle)
X(DeviceWaitIdle)
#undef X

/* semaphores ----------------------------------------------------------------------------------------------------- */

/* Makes the semaphore at its first use; `queue_lock` is locked. */
static int ensure_semaphore(Device *device, int which) {
    if (!device->exports_semaphores) return NO_EXPORT;
    if (device->semaphores[which]) return VK_SUCCESS;
    VkExportSemaphoreCreateInfo export = {VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, NULL, SEMAPHORE_FD};
    VkSemaphoreTypeCreateInfo timeline = {VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, &export,
                                          VK_SEMAPHORE_TYPE_TIMELINE, 0};
    VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &timeline, 0};
    return device->CreateSemaphore(device->handle, &info, NULL, &device->semaphores[which]);
}

int export_semaphore(Device *device, int which) {
    int fd = -1;
    pthread_mutex_lock(&device->queue_lock);
    int result = ensure_semaphore(device, which);
    if (result == VK_SUCCESS) {
        VkSemaphoreGetFdInfoKHR info = {VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, device->semaphores[which],
                                        SEMAPHORE_FD};
        result = device->GetSemaphoreFdKHR(device->handle, &info, &fd);
    }
    pthread_mutex_unlock(&device->queue_lock);
    return result == VK_SUCCESS ? fd : result;
}

static int submit_locked(Device *device, int which, uint64_t value, bool signal) {
    if (!device->queue) return NO_QUEUE;
    int result = ensure_semaphore(device, which);
    if (result != VK_SUCCESS) return result;
    if (signal && value <= device->signaled[which]) return BAD_VALUE;
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, !signal, &value,
                                            signal, &value};
    VkSemaphore *semaphore = &device->semaphores[which];
    VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values, !signal, semaphore, &stage, 0, NULL, signal,
                         semaphore};
    result = device->QueueSubmit(device->queue, 1, &info, VK_NULL_HANDLE);
    if (result == VK_SUCCESS) device->submitted = true;
    if (result == VK_SUCCESS && signal) device->signaled[which] = value;
    return result;
}

int submit_semaphore(Device *device, int which, uint64_t value, bool signal) {
    pthread_mutex_lock(&device->queue_lock);
    int result = submit_locked(device, which, value, signal);
    pthread_mutex_unlock(&device->queue_lock);
    return result;
}
