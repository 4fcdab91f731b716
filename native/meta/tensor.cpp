// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// aclTensor: creating, asking, changing. The object behind a handle never changes; a change puts another in its place,
// so that whoever looked it up keeps a consistent view.
#include <limits>

#include "meta/api.h"
#include "meta/objects.h"
#include "runtime/elements.h"

namespace acl_attn::meta {
namespace {

struct Arguments {
    const int64_t* view_dims;
    uint64_t view_rank;
    aclDataType dtype;
    const int64_t* stride;
    int64_t offset;
    aclFormat format;
    const int64_t* storage_dims;
    uint64_t storage_rank;
    void* data;
};

aclnnStatus invalid(std::string message) { return fail(ACLNN_ERR_PARAM_INVALID, std::move(message)); }

bool is_format(aclFormat format) {
    switch (format) {
        case ACL_FORMAT_NCHW:
        case ACL_FORMAT_NHWC:
        case ACL_FORMAT_ND:
        case ACL_FORMAT_NC1HWC0:
        case ACL_FORMAT_FRACTAL_Z:
        case ACL_FORMAT_NC1HWC0_C04:
        case ACL_FORMAT_HWCN:
        case ACL_FORMAT_NDHWC:
        case ACL_FORMAT_FRACTAL_NZ:
        case ACL_FORMAT_NCDHW:
        case ACL_FORMAT_NDC1HWC0:
        case ACL_FRACTAL_Z_3D:
        case ACL_FORMAT_NC:
        case ACL_FORMAT_NCL:
        case ACL_FORMAT_FRACTAL_NZ_C0_16:
        case ACL_FORMAT_FRACTAL_NZ_C0_32:
        case ACL_FORMAT_FRACTAL_NZ_C0_2:
        case ACL_FORMAT_FRACTAL_NZ_C0_4:
        case ACL_FORMAT_FRACTAL_NZ_C0_8: return true;
        case ACL_FORMAT_UNDEFINED: break;
    }
    return false;
}

// Extents, their count, and that their product fits an int64_t: `elements`, 0 if any extent is 0.
aclnnStatus check_dims(const char* parameter, const int64_t* dims, uint64_t rank, int64_t* elements) {
    if (rank > kMaxDims) {
        return invalid(text(parameter, "Num: expected 0 to ", kMaxDims, " axes, got ", rank));
    }
    if (rank > 0 && dims == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, text(parameter, ": expected ", rank, " extents, got null"));
    }
    bool is_empty = false;
    for (uint64_t axis = 0; axis < rank; ++axis) {
        if (dims[axis] < 0) {
            return invalid(text(parameter, "[", axis, "]: expected an extent of at least 0, got ", dims[axis]));
        }
        is_empty = is_empty || dims[axis] == 0;
    }
    *elements = is_empty ? 0 : 1;
    for (uint64_t axis = 0; axis < rank && !is_empty; ++axis) {
        if (__builtin_mul_overflow(*elements, dims[axis], elements)) {
            return invalid(text(parameter, ": expected a product of extents below 2^63, got more"));
        }
    }
    return ACLNN_SUCCESS;
}

// That the last element of a non-empty view lies inside the storage of `room` elements.
aclnnStatus check_extent(const Tensor& tensor, int64_t room) {
    int64_t last = tensor.offset;
    for (int axis = 0; axis < tensor.rank; ++axis) {
        int64_t reach = 0;
        if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.stride[axis], &reach) ||
            __builtin_add_overflow(last, reach, &last)) {
            return invalid(text("stride[", axis, "]: expected a view below 2^63 elements, got stride ",
                                tensor.stride[axis], " over ", tensor.shape[axis], " elements"));
        }
    }
    int64_t bits = 0;
    if (__builtin_mul_overflow(last, int64_t{element_bits(tensor.dtype)}, &bits)) {
        return invalid(text("viewDims: expected a view below 2^63 bits, got ", last, " elements"));
    }
    if (last < room) return ACLNN_SUCCESS;
    return invalid(text("storageDims: expected room for the view's last element, at ", last, " from the start, got ",
                        room, " elements; check viewDims, stride and offset against storageDims"));
}

aclnnStatus build(const Arguments& given, Tensor* tensor) {
    if (element_bits(given.dtype) == 0) {
        return invalid(text("dataType: expected an element type of aclDataType, got ", static_cast<int>(given.dtype)));
    }
    if (!is_format(given.format)) {
        return invalid(text("format: expected a value of aclFormat such as ACL_FORMAT_ND (2), got ",
                            static_cast<int>(given.format)));
    }
    int64_t elements = 0, room = 0;
    if (const aclnnStatus status = check_dims("viewDims", given.view_dims, given.view_rank, &elements)) return status;
    if (const aclnnStatus status = check_dims("storageDims", given.storage_dims, given.storage_rank, &room)) {
        return status;
    }
    if (given.offset < 0) return invalid(text("offset: expected at least 0 elements, got ", given.offset));

    tensor->rank = static_cast<int>(given.view_rank);
    int64_t dense = 1;
    for (int axis = tensor->rank - 1; axis >= 0; --axis) {
        tensor->shape[axis] = given.view_dims[axis];
        tensor->stride[axis] = given.stride == nullptr ? dense : given.stride[axis];
        if (tensor->stride[axis] < 0) {
            return invalid(text("stride[", axis, "]: expected at least 0 elements, got ", tensor->stride[axis]));
        }
        // An empty tensor's other extents may overflow their product; its strides mean nothing.
        if (__builtin_mul_overflow(dense, tensor->shape[axis], &dense)) dense = 0;
    }
    tensor->offset = given.offset;
    tensor->dtype = given.dtype;
    tensor->format = given.format;
    tensor->data = given.data;
    const bool has_storage = given.storage_rank > 0;
    const int64_t* storage = has_storage ? given.storage_dims : tensor->shape;
    tensor->storage_shape.assign(storage, storage + (has_storage ? given.storage_rank : given.view_rank));
    // A storage that the caller did not describe is taken to be large enough.
    if (!has_storage) room = std::numeric_limits<int64_t>::max();
    return elements == 0 ? ACLNN_SUCCESS : check_extent(*tensor, room);
}

aclnnStatus find_tensor(const aclTensor* handle, std::shared_ptr<const Tensor>* tensor) {
    *tensor = find(handle);
    return *tensor != nullptr ? ACLNN_SUCCESS : bad_handle("tensor", Kind::tensor, handle);
}

// An array that the caller releases with delete[].
aclnnStatus hand_out(const int64_t* values, uint64_t count, int64_t** array, uint64_t* size) {
    int64_t* copy = new int64_t[count];
    for (uint64_t i = 0; i < count; ++i) copy[i] = values[i];
    *array = copy;
    *size = count;
    return ACLNN_SUCCESS;
}

}  // namespace
}  // namespace acl_attn::meta

extern "C" {
using namespace acl_attn;
using namespace acl_attn::meta;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
    return create_entry<aclTensor>("aclCreateTensor", [&]() -> void* {
        auto tensor = std::make_shared<Tensor>();
        const Arguments given{viewDims, viewDimsNum,    dataType, stride, offset, format, storageDims, storageDimsNum,
                              tensorData};
        return build(given, tensor.get()) == ACLNN_SUCCESS ? runtime::insert(Kind::tensor, std::move(tensor)) : nullptr;
    });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
    return destroy<Tensor>("aclDestroyTensor", "tensor", Kind::tensor, tensor);
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
    return entry("aclInitTensor", [&]() -> aclnnStatus {
        const auto changed = std::make_shared<Tensor>();
        const Arguments given{viewDims, viewDimsNum,    dataType, stride, offset, format, storageDims, storageDimsNum,
                              tensorDataAddr};
        if (const aclnnStatus status = build(given, changed.get())) return status;
        const bool found = runtime::replace<Tensor>(Kind::tensor, tensor, [&](const Tensor&) { return changed; });
        return found ? ACLNN_SUCCESS : bad_handle("tensor", Kind::tensor, tensor);
    });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    return entry("aclSetRawTensorAddr", [&]() -> aclnnStatus {
        const bool found = runtime::replace<Tensor>(Kind::tensor, tensor, [&](const Tensor& old) {
            auto changed = std::make_shared<Tensor>(old);
            changed->data = addr;
            return changed;
        });
        return found ? ACLNN_SUCCESS : bad_handle("tensor", Kind::tensor, tensor);
    });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
    return entry("aclGetRawTensorAddr", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (addr == nullptr) return null_result("addr");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        *addr = found->data;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return entry("aclGetViewShape", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (viewDims == nullptr) return null_result("viewDims");
        if (viewDimsNum == nullptr) return null_result("viewDimsNum");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        return hand_out(found->shape, found->rank, viewDims, viewDimsNum);
    });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return entry("aclGetStorageShape", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (storageDims == nullptr) return null_result("storageDims");
        if (storageDimsNum == nullptr) return null_result("storageDimsNum");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        return hand_out(found->storage_shape.data(), found->storage_shape.size(), storageDims, storageDimsNum);
    });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return entry("aclGetViewStrides", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (stridesValue == nullptr) return null_result("stridesValue");
        if (stridesNum == nullptr) return null_result("stridesNum");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        return hand_out(found->stride, found->rank, stridesValue, stridesNum);
    });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return entry("aclGetViewOffset", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (offset == nullptr) return null_result("offset");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        *offset = found->offset;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return entry("aclGetFormat", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (format == nullptr) return null_result("format");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        *format = found->format;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return entry("aclGetDataType", [&]() -> aclnnStatus {
        std::shared_ptr<const Tensor> found;
        if (dataType == nullptr) return null_result("dataType");
        if (const aclnnStatus status = find_tensor(tensor, &found)) return status;
        *dataType = found->dtype;
        return ACLNN_SUCCESS;
    });
}

}  // extern "C"
