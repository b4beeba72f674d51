/* Buffers that were created while `marking` is on get exportable memory of their own, at their creation.
 *
 * The application's allocator still asks for the buffer's requirements, and binds memory. It is answered with a
 * placeholder of 16 bytes, and its binding is not carried out. Where the memory's type can be mapped by the host (a
 * software driver, or a GPU without memory of its own) the placeholder has the buffer's full size: there this layer
 * cannot refuse a buffer that the application means to map, and a write through that mapping must stay in bounds. */
#include <stdlib.h>

#include "layer.h"

#define PLACEHOLDER 16
#define SHAREABLE (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT)

uint64_t exports;
bool small_placeholders;
__thread unsigned marking;
__thread BufferReport last_buffer;
static uint64_t made_memories;

/* The place of this buffer in the device's table, with `buffer_lock` locked. */
static Shared **place(Device *device, VkBuffer buffer) {
    Shared **at = &device->shared[((uint64_t)buffer * 0x9E3779B97F4A7C15ull) >> 56];
    while (*at && (*at)->buffer != buffer) at = &(*at)->next;
    return at;
}

static bool answer_of(Device *device, VkBuffer buffer, VkMemoryRequirements *out) {
    pthread_mutex_lock(&device->buffer_lock);
    Shared *found = *place(device, buffer);
    if (found && out) *out = found->answer;
    pthread_mutex_unlock(&device->buffer_lock);
    return found != NULL;
}

/* creation ------------------------------------------------------------------------------------------------------- */

/* Whether such a buffer can be exported; and whether only with a dedicated allocation. */
static bool can_export(Device *device, const VkBufferCreateInfo *info, bool *dedicated) {
    if (!device->exports_memory || info->flags || !(info->usage & SHAREABLE) ||
        is_chained(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO))
        return false;
    VkPhysicalDeviceExternalBufferInfo what = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, NULL,
                                               info->flags, info->usage, MEMORY_FD};
    VkExternalBufferProperties found = {VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    device->external_buffers(device->physical, &what, &found);
    VkExternalMemoryFeatureFlags features = found.externalMemoryProperties.externalMemoryFeatures;
    *dedicated = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    return (features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
}

/* The first type of the GPU's memory which the host does not see, else of the GPU's memory, else any. */
static uint32_t choose_type(const VkPhysicalDeviceMemoryProperties *memory, uint32_t allowed) {
    const VkMemoryPropertyFlags special = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                          VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
    uint32_t best = UINT32_MAX;
    int best_rank = -1;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        if (!(allowed >> i & 1) || (flags & special)) continue;
        bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
        int rank = 2 * local + (local && !visible);
        if (rank > best_rank) best = i, best_rank = rank;
    }
    return best;
}

static VkResult allocate(Device *device, Shared *made, VkBufferUsageFlags usage) {
    VkMemoryDedicatedRequirements preference = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, &preference};
    VkBufferMemoryRequirementsInfo2 of = {VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, NULL, made->buffer};
    device->GetBufferMemoryRequirements2(device->handle, &of, &needs);
    made->needs = needs.memoryRequirements;
    made->dedicated |= preference.requiresDedicatedAllocation;
    uint32_t type = choose_type(&device->memory, made->needs.memoryTypeBits);
    if (type == UINT32_MAX) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    bool visible = device->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    made->answer = visible && !small_placeholders ? made->needs : (VkMemoryRequirements){PLACEHOLDER, PLACEHOLDER, 0};
    made->answer.memoryTypeBits = 1u << type;

    VkMemoryDedicatedAllocateInfo dedicated = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL, VK_NULL_HANDLE,
                                               made->buffer};
    VkMemoryAllocateFlagsInfo addressed = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           made->dedicated ? &dedicated : NULL,
                                           VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0};
    VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, addressed.pNext, MEMORY_FD};
    if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) export.pNext = &addressed;
    VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &export, made->needs.size, type};
    VkResult result = device->AllocateMemory(device->handle, &info, NULL, &made->memory);
    if (result != VK_SUCCESS) return result;
    result = device->BindBufferMemory(device->handle, made->buffer, made->memory, 0);
    if (result != VK_SUCCESS) device->FreeMemory(device->handle, made->memory, NULL);
    return result;
}

static VkResult create_shared(Device *device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator,
                              VkBuffer *out, bool dedicated) {
    Shared *made = calloc(1, sizeof *made);
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, info->pNext,
                                                 MEMORY_FD};
    VkBufferCreateInfo mine = *info;
    mine.pNext = &external;
    VkResult result = device->CreateBuffer(device->handle, &mine, allocator, out);
    if (result == VK_SUCCESS) {
        made->buffer = *out, made->dedicated = dedicated;
        result = allocate(device, made, info->usage);
        if (result != VK_SUCCESS) {
            device->DestroyBuffer(device->handle, *out, allocator);
            *out = VK_NULL_HANDLE;
        }
    }
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    made->id = __atomic_add_fetch(&made_memories, 1, __ATOMIC_RELAXED);
    last_buffer = (BufferReport){made->id, info->size, made->needs.size, 0, 1, made->dedicated, 1};
    pthread_mutex_lock(&device->buffer_lock);
    Shared **at = &device->shared[((uint64_t)*out * 0x9E3779B97F4A7C15ull) >> 56];
    made->next = *at, *at = made;
    device->count++, device->bytes += made->needs.size;
    pthread_mutex_unlock(&device->buffer_lock);
    return VK_SUCCESS;
}

static VkResult VKAPI_CALL CreateBuffer(VkDevice handle, const VkBufferCreateInfo *info,
                                        const VkAllocationCallbacks *allocator, VkBuffer *out) {
    Device *device = find_device(KEY(handle));
    if (!device) return VK_ERROR_INITIALIZATION_FAILED;
    bool dedicated;
    if (!marking) return device->CreateBuffer(handle, info, allocator, out);
    last_buffer = (BufferReport){0};
    if (can_export(device, info, &dedicated)) return create_shared(device, info, allocator, out, dedicated);
    VkResult result = device->CreateBuffer(handle, info, allocator, out);
    if (result == VK_SUCCESS) last_buffer = (BufferReport){.size = info->size, .exists = 1};
    return result;
}

/* destruction ---------------------------------------------------------------------------------------------------- */

static void VKAPI_CALL DestroyBuffer(VkDevice handle, VkBuffer buffer, const VkAllocationCallbacks *allocator) {
    Device *device = find_device(KEY(handle));
    if (!device) return;
    pthread_mutex_lock(&device->buffer_lock);
    Shared **at = place(device, buffer), *gone = *at;
    if (gone) {
        *at = gone->next;
        device->count--, device->bytes -= gone->needs.size;
    }
    pthread_mutex_unlock(&device->buffer_lock);
    device->DestroyBuffer(handle, buffer, allocator);
    if (gone) device->FreeMemory(handle, gone->memory, NULL); /* what was exported stays with those who imported it */
    free(gone);
}

void free_shared(Device *device) {
    for (int i = 0; i < BUCKETS; i++)
        for (Shared *each = device->shared[i], *next; each; each = next) {
            next = each->next;
            device->FreeMemory(device->handle, each->memory, NULL);
            free(each);
        }
}

int export_memory(Device *device, uint64_t id) {
    int fd = NO_MEMORY;
    pthread_mutex_lock(&device->buffer_lock); /* to the end, so that the memory is not freed meanwhile */
    for (int i = 0; i < BUCKETS; i++)
        for (Shared *each = device->shared[i]; each; each = each->next) {
            if (each->id != id) continue;
            VkMemoryGetFdInfoKHR info = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, each->memory, MEMORY_FD};
            VkResult result = device->GetMemoryFdKHR(device->handle, &info, &fd);
            if (result != VK_SUCCESS) fd = result;
        }
    pthread_mutex_unlock(&device->buffer_lock);
    if (fd >= 0) __atomic_add_fetch(&exports, 1, __ATOMIC_RELAXED);
    return fd;
}

/* what an allocator asks and does -------------------------------------------------------------------------------- */

static void VKAPI_CALL GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer, VkMemoryRequirements *out) {
    Device *device = find_device(KEY(handle));
    if (device && !answer_of(device, buffer, out)) device->GetBufferMemoryRequirements(handle, buffer, out);
}

static void VKAPI_CALL GetBufferMemoryRequirements2(VkDevice handle, const VkBufferMemoryRequirementsInfo2 *info,
                                                    VkMemoryRequirements2 *out) {
    Device *device = find_device(KEY(handle));
    if (!device) return;
    device->GetBufferMemoryRequirements2(handle, info, out);
    if (!answer_of(device, info->buffer, &out->memoryRequirements)) return;
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) /* of a placeholder */
        if (s->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) {
            VkMemoryDedicatedRequirements *dedicated = (void *)s;
            dedicated->prefersDedicatedAllocation = dedicated->requiresDedicatedAllocation = VK_FALSE;
        }
}

static VkResult VKAPI_CALL BindBufferMemory(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                            VkDeviceSize offset) {
    Device *device = find_device(KEY(handle));
    if (!device) return VK_ERROR_INITIALIZATION_FAILED;
    if (answer_of(device, buffer, NULL)) return VK_SUCCESS; /* it is bound to its own */
    return device->BindBufferMemory(handle, buffer, memory, offset);
}

static VkResult VKAPI_CALL BindBufferMemory2(VkDevice handle, uint32_t count, const VkBindBufferMemoryInfo *infos) {
    Device *device = find_device(KEY(handle));
    if (!device) return VK_ERROR_INITIALIZATION_FAILED;
    VkBindBufferMemoryInfo *others = calloc(count ? count : 1, sizeof *others);
    if (!others) return VK_ERROR_OUT_OF_HOST_MEMORY;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!answer_of(device, infos[i].buffer, NULL)) others[kept++] = infos[i];
    VkResult result = kept ? device->BindBufferMemory2(handle, kept, others) : VK_SUCCESS;
    free(others);
    return result;
}

#define X(f) PFN_vk##f get_##f(void) { return f; }
X(CreateBuffer)
X(DestroyBuffer)
X(GetBufferMemoryRequirements)
X(GetBufferMemoryRequirements2)
X(BindBufferMemory)
X(BindBufferMemory2)
#undef X
