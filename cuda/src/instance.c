/* Creation of instances and devices, as the Vulkan loader's layer interface (version 2) demands. */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

pthread_rwlock_t registry = PTHREAD_RWLOCK_INITIALIZER;
Device *devices;
__thread uint64_t last_device;
static Instance *instances;
static uint64_t made_devices;

static Instance *find_instance(void *key) {
    pthread_rwlock_rdlock(&registry);
    Instance *found = instances;
    while (found && found->key != key) found = found->next;
    pthread_rwlock_unlock(&registry);
    return found;
}

Device *find_device(void *key) {
    pthread_rwlock_rdlock(&registry);
    Device *found = devices;
    while (found && found->key != key) found = found->next;
    pthread_rwlock_unlock(&registry);
    return found; /* not destroyed meanwhile: the application may not destroy a device that it uses */
}

Device *hold_device(uint64_t id) {
    pthread_rwlock_rdlock(&registry);
    Device *found = devices;
    while (found && found->id != id) found = found->next;
    if (!found) pthread_rwlock_unlock(&registry);
    return found;
}

void release_device(void) { pthread_rwlock_unlock(&registry); }

static const void *chained(const void *chain, VkStructureType type) {
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == type) return s;
    return NULL;
}

bool is_chained(const void *chain, VkStructureType type) { return chained(chain, type) != NULL; }

/* instances ------------------------------------------------------------------------------------------------------ */

static VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                          VkInstance *out) {
    VkLayerInstanceCreateInfo *link = (void *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (void *)link->pNext;
    if (!link || !link->u.pLayerInfo) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr get_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get_proc(NULL, "vkCreateInstance");
    Instance *made = calloc(1, sizeof *made);
    if (!create || !made) {
        free(made);
        return create ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_INITIALIZATION_FAILED;
    }
    link->u.pLayerInfo = link->u.pLayerInfo->pNext; /* the next layer finds its own link there */
    VkResult result = create(info, allocator, out);
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    made->key = KEY(*out), made->handle = *out, made->get_proc = get_proc;
    const VkApplicationInfo *application = info->pApplicationInfo;
    made->api_version = application && application->apiVersion ? application->apiVersion : VK_API_VERSION_1_0;
#define LOAD(f) made->f = (PFN_vk##f)get_proc(*out, "vk" #f)
    LOAD(DestroyInstance);
    LOAD(EnumerateDeviceExtensionProperties);
    LOAD(GetPhysicalDeviceProperties2);
    LOAD(GetPhysicalDeviceMemoryProperties);
    LOAD(GetPhysicalDeviceExternalBufferProperties);
    LOAD(GetPhysicalDeviceExternalSemaphoreProperties);
#undef LOAD
    pthread_rwlock_wrlock(&registry);
    made->next = instances, instances = made;
    pthread_rwlock_unlock(&registry);
    return VK_SUCCESS;
}

static void VKAPI_CALL DestroyInstance(VkInstance handle, const VkAllocationCallbacks *allocator) {
    if (!handle) return;
    pthread_rwlock_wrlock(&registry);
    Instance **at = &instances;
    while (*at && (*at)->key != KEY(handle)) at = &(*at)->next;
    Instance *gone = *at;
    if (gone) *at = gone->next;
    pthread_rwlock_unlock(&registry);
    if (gone) gone->DestroyInstance(handle, allocator);
    free(gone);
}

/* devices -------------------------------------------------------------------------------------------------------- */

static bool listed(const char *name, const char *const *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static bool offers(Instance *instance, VkPhysicalDevice physical, const char *name) {
    uint32_t count = 0;
    instance->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    VkExtensionProperties *all = calloc(count ? count : 1, sizeof *all);
    bool found = false;
    if (all) instance->EnumerateDeviceExtensionProperties(physical, NULL, &count, all);
    for (uint32_t i = 0; all && i < count; i++) found |= !strcmp(all[i].extensionName, name);
    free(all);
    return found;
}

static bool has_timelines(const VkDeviceCreateInfo *info) {
    const VkPhysicalDeviceVulkan12Features *all =
        chained(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceTimelineSemaphoreFeatures *one =
        chained(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    return (all && all->timelineSemaphore) || (one && one->timelineSemaphore);
}

/* What the physical device is, and whether it can export. Nothing is asked of an instance of Vulkan 1.0. */
static void describe(Device *device, Instance *instance, VkPhysicalDevice physical, const VkDeviceCreateInfo *info) {
    const VkDeviceGroupDeviceCreateInfo *group =
        chained(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    if (instance->api_version < VK_API_VERSION_1_1 || (group && group->physicalDeviceCount > 1)) return;
    VkPhysicalDeviceIDProperties id = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id};
    instance->GetPhysicalDeviceProperties2(physical, &properties);
    memcpy(device->uuid, id.deviceUUID, sizeof device->uuid);
    memcpy(device->name, properties.properties.deviceName, sizeof device->name);
    if (properties.properties.apiVersion < VK_API_VERSION_1_1) return;

    instance->GetPhysicalDeviceMemoryProperties(physical, &device->memory);
    device->external_buffers = instance->GetPhysicalDeviceExternalBufferProperties;
    VkPhysicalDeviceExternalBufferInfo buffers = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, NULL, 0,
                                                  VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, MEMORY_FD};
    VkExternalBufferProperties of_buffers = {VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    device->external_buffers(physical, &buffers, &of_buffers);
    device->exports_memory =
        (of_buffers.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) &&
        offers(instance, physical, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);

    VkSemaphoreTypeCreateInfo timeline = {VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, NULL,
                                          VK_SEMAPHORE_TYPE_TIMELINE, 0};
    VkPhysicalDeviceExternalSemaphoreInfo semaphores = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
                                                        &timeline, SEMAPHORE_FD};
    VkExternalSemaphoreProperties of_semaphores = {VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    if (!has_timelines(info) || !offers(instance, physical, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)) return;
    instance->GetPhysicalDeviceExternalSemaphoreProperties(physical, &semaphores, &of_semaphores);
    device->exports_semaphores =
        (of_semaphores.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
}

/* The application's extensions and the two for exporting; the array is the caller's to free. */
static const char **extended(Device *device, const VkDeviceCreateInfo *info, uint32_t *count) {
    const char **names = calloc(info->enabledExtensionCount + 2, sizeof *names);
    *count = info->enabledExtensionCount;
    if (!names) return NULL;
    for (uint32_t i = 0; i < *count; i++) names[i] = info->ppEnabledExtensionNames[i];
    if (device->exports_memory && !listed(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, names, *count))
        names[(*count)++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (device->exports_semaphores && !listed(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, names, *count))
        names[(*count)++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    return names;
}

static void load(Device *device) {
#define X(f) \
    device->f = (PFN_vk##f)device->get_proc(device->handle, "vk" #f); \
    if (!device->f) device->f = (PFN_vk##f)device->get_proc(device->handle, "vk" #f "KHR");
    INTERCEPTED(X) CALLED(X)
#undef X
    device->exports_memory = device->exports_memory && device->GetMemoryFdKHR && device->GetBufferMemoryRequirements2;
    device->exports_semaphores = device->exports_semaphores && device->GetSemaphoreFdKHR;
}

static VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                        const VkAllocationCallbacks *allocator, VkDevice *out) {
    VkLayerDeviceCreateInfo *link = (void *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (void *)link->pNext;
    if (!link || !link->u.pLayerInfo) return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerDeviceLink here = *link->u.pLayerInfo;
    Instance *instance = find_instance(KEY(physical));
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)here.pfnNextGetInstanceProcAddr(
        instance ? instance->handle : VK_NULL_HANDLE, "vkCreateDevice");
    if (!create) return VK_ERROR_INITIALIZATION_FAILED;

    Device *made = calloc(1, sizeof *made);
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (instance) describe(made, instance, physical, info);
    VkDeviceCreateInfo mine = *info;
    const char **names = extended(made, info, &mine.enabledExtensionCount);
    mine.ppEnabledExtensionNames = names;
    link->u.pLayerInfo = here.pNext;
    VkResult result = names ? create(physical, &mine, allocator, out) : VK_ERROR_OUT_OF_HOST_MEMORY;
    free(names);
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT && mine.enabledExtensionCount > info->enabledExtensionCount) {
        made->exports_memory = made->exports_semaphores = false; /* as without this layer */
        link->u.pLayerInfo = here.pNext;
        result = create(physical, info, allocator, out);
    }
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    made->key = KEY(*out), made->handle = *out, made->physical = physical;
    made->get_proc = here.pfnNextGetDeviceProcAddr;
    pthread_mutex_init(&made->buffer_lock, NULL);
    pthread_mutex_init(&made->queue_lock, NULL);
    load(made);
    pthread_rwlock_wrlock(&registry);
    last_device = made->id = ++made_devices;
    made->next = devices, devices = made;
    pthread_rwlock_unlock(&registry);
    return VK_SUCCESS;
}

static void VKAPI_CALL DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
    if (!handle) return;
    pthread_rwlock_wrlock(&registry);
    Device **at = &devices;
    while (*at && (*at)->key != KEY(handle)) at = &(*at)->next;
    Device *gone = *at;
    if (gone) *at = gone->next;
    pthread_rwlock_unlock(&registry);
    if (!gone) return;
    if (gone->submitted) gone->DeviceWaitIdle(handle); /* the application waits for its own submissions only */
    for (int which = 0; which < 2; which++)
        if (gone->semaphores[which]) gone->DestroySemaphore(handle, gone->semaphores[which], NULL);
    free_shared(gone);
    gone->DestroyDevice(handle, allocator);
    pthread_mutex_destroy(&gone->buffer_lock);
    pthread_mutex_destroy(&gone->queue_lock);
    free(gone);
}

PFN_vkDestroyDevice get_DestroyDevice(void) { return DestroyDevice; }

/* what the loader calls ------------------------------------------------------------------------------------------ */

static PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance, const char *name);
static PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char *name);

static PFN_vkVoidFunction of_device(const char *name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)GetDeviceProcAddr;
#define X(f) if (!strcmp(name, "vk" #f) || !strcmp(name, "vk" #f "KHR")) return (PFN_vkVoidFunction)get_##f();
    INTERCEPTED(X)
#undef X
    return NULL;
}

static PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice handle, const char *name) {
    Device *device = find_device(KEY(handle));
    PFN_vkVoidFunction next = device ? device->get_proc(handle, name) : NULL;
    PFN_vkVoidFunction mine = next ? of_device(name) : NULL; /* nothing that is not there without this layer */
    return mine ? mine : next;
}

static PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance handle, const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)GetInstanceProcAddr;
    if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)CreateInstance;
    if (!strcmp(name, "vkDestroyInstance")) return (PFN_vkVoidFunction)DestroyInstance;
    if (!strcmp(name, "vkCreateDevice")) return (PFN_vkVoidFunction)CreateDevice;
    Instance *instance = handle ? find_instance(KEY(handle)) : NULL;
    PFN_vkVoidFunction next = instance ? instance->get_proc(handle, name) : NULL;
    PFN_vkVoidFunction mine = next ? of_device(name) : NULL;
    return mine ? mine : next;
}

EXPORTED VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *offered) {
    if (offered->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || offered->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    offered->loaderLayerInterfaceVersion = 2;
    offered->pfnGetInstanceProcAddr = GetInstanceProcAddr;
    offered->pfnGetDeviceProcAddr = GetDeviceProcAddr;
    offered->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
