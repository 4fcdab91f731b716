// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A C++ program that hosts CPython. It owns the device, the memory and the streams; a Python function computes on them,
// called from two threads. Usage: embedding PYTHON DIRECTORY, where PYTHON is the interpreter whose packages are to be
// used and DIRECTORY holds attention_job.py.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"

namespace {

void check(int status, const char* what) {
    if (status == 0) return;
    const char* detail = aclGetRecentErrMsg();
    throw std::runtime_error(std::string(what) + ": status " + std::to_string(status) + ": " + (detail ? detail : ""));
}
#define CHECK(call) check((call), #call)

// --- Memory and streams, released by scope ---------------------------------------------------------------------------

struct FreeDevice {
    void operator()(void* memory) const noexcept { aclrtFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;

DeviceMemory allocate(size_t bytes) {
    void* memory = nullptr;
    CHECK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return DeviceMemory(memory);
}

struct DestroyStream {
    void operator()(void* stream) const noexcept { aclrtDestroyStream(stream); }
};
using Stream = std::unique_ptr<void, DestroyStream>;

Stream create_stream() {
    aclrtStream stream = nullptr;
    CHECK(aclrtCreateStream(&stream));
    return Stream(stream);
}

// --- Python ----------------------------------------------------------------------------------------------------------

struct DropReference {
    void operator()(PyObject* object) const noexcept { Py_DECREF(object); }
};
using PyRef = std::unique_ptr<PyObject, DropReference>;  // destroyed only while the thread holds the interpreter lock

// Throws what Python raised. The thread holds the interpreter lock.
PyRef checked(PyObject* result) {
    if (result != nullptr) return PyRef(result);
    PyErr_Print();
    throw std::runtime_error("Python raised an exception, printed above");
}

void check(const PyStatus& status) {
    if (PyStatus_Exception(status)) {
        throw std::runtime_error(std::string("Python: ") + (status.err_msg ? status.err_msg : "cannot start"));
    }
}

// Holds the interpreter lock for a scope; any thread, also one that Python has never seen.
class HoldInterpreter {
public:
    HoldInterpreter() : state_(PyGILState_Ensure()) {}
    ~HoldInterpreter() { PyGILState_Release(state_); }
    HoldInterpreter(const HoldInterpreter&) = delete;
    HoldInterpreter& operator=(const HoldInterpreter&) = delete;

private:
    PyGILState_STATE state_;
};

// CPython, started once for the life of the process: extension modules such as NumPy cannot be loaded a second time.
class Interpreter {
public:
    // Isolated: the user's environment variables and working directory have no say in what is imported. `python` tells
    // where its packages are; it may belong to a virtual environment.
    explicit Interpreter(const char* python) {
        PyConfig config;
        PyConfig_InitIsolatedConfig(&config);
        try {
            check(PyConfig_SetBytesString(&config, &config.program_name, python));
            check(Py_InitializeFromConfig(&config));
        } catch (...) {
            PyConfig_Clear(&config);
            throw;
        }
        PyConfig_Clear(&config);
    }

    // False if Python could not flush its files on the way out.
    bool finalize() { return Py_FinalizeEx() == 0; }
};

// The function `attend` of attention_job.py in `directory`.
PyRef import_job(const char* directory) {
    const PyRef entry = checked(PyUnicode_DecodeFSDefault(directory));
    if (PyList_Insert(PySys_GetObject("path"), 0, entry.get()) != 0) checked(nullptr);  // PySys_GetObject lends
    const PyRef module = checked(PyImport_ImportModule("attention_job"));
    return checked(PyObject_GetAttrString(module.get(), "attend"));
}

// --- The job ---------------------------------------------------------------------------------------------------------

struct Sizes {
    int64_t tokens, heads, kv_heads, head_dim;
};

std::vector<aclFloat16> random_halves(size_t count, std::mt19937& generator) {
    std::normal_distribution<float> normal;
    std::vector<aclFloat16> values(count);
    for (auto& value : values) value = aclFloatToFloat16(normal(generator));
    return values;
}

DeviceMemory upload(const std::vector<aclFloat16>& values) {
    const size_t bytes = values.size() * sizeof(aclFloat16);
    DeviceMemory memory = allocate(bytes);
    CHECK(aclrtMemcpy(memory.get(), bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

// The largest deviation of `out` from causal attention by its definition; NaN if `out` has one.
double worst_error(const Sizes& sizes, const std::vector<aclFloat16>& query, const std::vector<aclFloat16>& key,
                   const std::vector<aclFloat16>& value, const std::vector<aclFloat16>& out) {
    const auto at = [](const std::vector<aclFloat16>& x, int64_t row, int64_t d) {
        return static_cast<double>(aclFloat16ToFloat(x[row + d]));
    };
    const double scale = 1.0 / std::sqrt(static_cast<double>(sizes.head_dim));
    std::vector<double> expected(sizes.head_dim);
    double worst = 0.0;
    for (int64_t i = 0; i < sizes.tokens; ++i) {
        for (int64_t h = 0; h < sizes.heads; ++h) {
            const int64_t q_row = (i * sizes.heads + h) * sizes.head_dim;
            double sum = 0.0;
            expected.assign(sizes.head_dim, 0.0);
            for (int64_t j = 0; j <= i; ++j) {
                const int64_t kv_row = (j * sizes.kv_heads + h * sizes.kv_heads / sizes.heads) * sizes.head_dim;
                double score = 0.0;
                for (int64_t d = 0; d < sizes.head_dim; ++d) score += at(query, q_row, d) * at(key, kv_row, d);
                const double weight = std::exp(score * scale);
                sum += weight;
                for (int64_t d = 0; d < sizes.head_dim; ++d) expected[d] += weight * at(value, kv_row, d);
            }
            for (int64_t d = 0; d < sizes.head_dim; ++d) {
                const double error = std::fabs(at(out, q_row, d) - expected[d] / sum);
                worst = error <= worst ? worst : error;  // written so that a NaN is kept
            }
        }
    }
    return worst;
}

// What one thread does: its own stream and buffers, Python between upload and download.
double run_thread(PyObject* attend, const Sizes& sizes, uint32_t seed) {
    CHECK(aclrtSetDevice(0));
    const Stream stream = create_stream();
    std::mt19937 generator(seed);
    double worst = 0.0;
    for (int round = 0; round < 20; ++round) {
        const auto query = random_halves(sizes.tokens * sizes.heads * sizes.head_dim, generator);
        const auto key = random_halves(sizes.tokens * sizes.kv_heads * sizes.head_dim, generator);
        const auto value = random_halves(sizes.tokens * sizes.kv_heads * sizes.head_dim, generator);
        const DeviceMemory q = upload(query), k = upload(key), v = upload(value);
        std::vector<aclFloat16> out(query.size(), aclFloatToFloat16(NAN));  // what Python does not write is noticed
        const DeviceMemory o = upload(out);
        {
            const HoldInterpreter hold;
            const auto address = [](void* pointer) { return reinterpret_cast<unsigned long long>(pointer); };
            checked(PyObject_CallFunction(
                attend, "K(KKKK)(LLLL)", address(stream.get()), address(q.get()), address(k.get()), address(v.get()),
                address(o.get()), static_cast<long long>(sizes.tokens), static_cast<long long>(sizes.heads),
                static_cast<long long>(sizes.kv_heads), static_cast<long long>(sizes.head_dim)));
        }
        // Python only enqueued: waiting is up to whoever needs the result, and needs no interpreter.
        CHECK(aclrtSynchronizeStream(stream.get()));
        const size_t bytes = out.size() * sizeof(aclFloat16);
        CHECK(aclrtMemcpy(out.data(), bytes, o.get(), bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        const double error = worst_error(sizes, query, key, value, out);
        worst = error <= worst ? worst : error;
    }
    return worst;
}

// Runs `body` on a thread of its own; an exception ends up in `error`.
std::thread start(std::string& error, std::function<void()> body) {
    return std::thread([&error, body = std::move(body)] {
        try {
            body();
        } catch (const std::exception& e) {
            error = e.what();
        }
    });
}

void compute(const char* directory) {
    PyRef attend = import_job(directory);
    double worst[2] = {NAN, NAN};
    std::string errors[2];
    {
        PyThreadState* main_thread = PyEval_SaveThread();  // the main thread must not sit on the interpreter lock
        std::thread first = start(errors[0], [&] { worst[0] = run_thread(attend.get(), {64, 8, 2, 64}, 1); });
        std::thread second = start(errors[1], [&] { worst[1] = run_thread(attend.get(), {37, 3, 1, 128}, 2); });
        first.join();
        second.join();
        PyEval_RestoreThread(main_thread);
    }
    for (int i = 0; i < 2; ++i) {
        if (!errors[i].empty()) throw std::runtime_error("thread " + std::to_string(i) + ": " + errors[i]);
        std::printf("thread %d: worst error %.2e\n", i, worst[i]);
        if (!(worst[i] < 4e-3)) throw std::runtime_error("the result is wrong");  // half precision of values up to 4
    }
}

int64_t live_objects() {
    int64_t count = 0;
    for (int kind = 0; kind < ACL_ATTN_OBJECT_KIND_COUNT; ++kind) {
        count += aclAttnGetLiveObjects(static_cast<aclAttnObjectKind>(kind));
    }
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s PYTHON DIRECTORY\n", argv[0]);
        return 2;
    }
    try {
        // ACL first and for longer than Python: then it is this program that ends it.
        CHECK(aclInit(nullptr));
        CHECK(aclrtSetDevice(0));
        Interpreter python(argv[1]);
        compute(argv[2]);
        if (!python.finalize()) throw std::runtime_error("Python did not shut down cleanly");
        const int64_t live = live_objects();
        std::printf("live objects after Python has gone: %lld\n", static_cast<long long>(live));
        CHECK(aclrtResetDevice(0));
        CHECK(aclFinalize());
        return live == 0 ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "embedding: %s\n", e.what());
        return 1;
    }
}
