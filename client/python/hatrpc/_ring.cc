// SPDX-License-Identifier: Apache-2.0
// client/python/hatrpc/_ring.cc: the Python extension module for client/ring/socket.h. Calls that
// wait release the lock of the Python interpreter (GIL).
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cerrno>
#include <memory>
#include <new>

#include "client/ring/socket.h"

namespace {

using hatrpc::ring::Side;
using hatrpc::ring::Socket;

struct Ring {
  PyObject_HEAD;
  std::shared_ptr<Socket> socket;  // null after close(); each waiting call has a copy
};

PyObject* failed(int error) {
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

std::shared_ptr<Socket> opened(PyObject* self) {
  auto socket = reinterpret_cast<Ring*>(self)->socket;
  if (socket == nullptr) failed(EBADF);
  return socket;
}

// Calls `attempt` repeatedly while it returns -EAGAIN, until `timeout_ms` has passed, and returns
// the last result. Each call waits at most kSliceMs, so that Python can handle Ctrl-C between the
// calls. `attempt` returns a negative errno value on failure.
template <class Attempt>
ssize_t wait_with(int timeout_ms, Attempt attempt) {
  constexpr int kSliceMs = 100;
  for (;;) {
    const bool last = timeout_ms >= 0 && timeout_ms <= kSliceMs;
    ssize_t result = 0;
    Py_BEGIN_ALLOW_THREADS result = attempt(last ? timeout_ms : kSliceMs);
    Py_END_ALLOW_THREADS if (result != -EAGAIN || last) return result;
    if (PyErr_CheckSignals() != 0) return -EINTR;
    if (timeout_ms >= 0) timeout_ms -= kSliceMs;
  }
}

PyObject* raise(ssize_t result) {
  return PyErr_Occurred() != nullptr ? nullptr : failed(static_cast<int>(-result));
}

PyObject* ring_read(PyObject* self, PyObject* arguments) {
  Py_ssize_t bytes = 0;
  int timeout_ms = 0;
  const auto socket = opened(self);
  if (socket == nullptr || !PyArg_ParseTuple(arguments, "ni", &bytes, &timeout_ms)) return nullptr;
  if (bytes < 0) return failed(EINVAL);
  if (socket->readable_bytes() == 0) {
    const ssize_t waited =
        wait_with(timeout_ms, [&](int slice) { return -socket->wait_readable(slice); });
    if (waited < 0) return raise(waited);
  }
  const Py_ssize_t there = static_cast<Py_ssize_t>(socket->readable_bytes());
  PyObject* result = PyBytes_FromStringAndSize(nullptr, there < bytes ? there : bytes);
  if (result == nullptr) return nullptr;
  const ssize_t count =
      socket->read(PyBytes_AS_STRING(result), static_cast<size_t>(PyBytes_GET_SIZE(result)), 0);
  if (count >= 0) return result;
  Py_DECREF(result);
  return failed(static_cast<int>(-count));
}

PyObject* ring_write(PyObject* self, PyObject* arguments) {
  Py_buffer from;
  int timeout_ms = 0;
  const auto socket = opened(self);
  if (socket == nullptr || !PyArg_ParseTuple(arguments, "y*i", &from, &timeout_ms)) return nullptr;
  const char* next = static_cast<const char*>(from.buf);
  ssize_t left = from.len;
  ssize_t count = 0;
  while (left > 0) {
    count = socket->write(next, static_cast<size_t>(left), 0);
    if (count == -EAGAIN) {
      count = wait_with(timeout_ms, [&](int slice) {
        return socket->write(next, static_cast<size_t>(left), slice);
      });
    }
    if (count < 0) break;
    next += count;
    left -= count;
  }
  PyBuffer_Release(&from);
  if (count < 0) return raise(count);
  Py_RETURN_NONE;
}

PyObject* ring_fileno(PyObject* self, PyObject*) {
  const auto socket = opened(self);
  return socket == nullptr ? nullptr : PyLong_FromLong(socket->fd());
}

PyObject* ring_close(PyObject* self, PyObject*) {
  reinterpret_cast<Ring*>(self)->socket.reset();
  Py_RETURN_NONE;
}

void ring_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<Ring*>(self)->socket.~shared_ptr<Socket>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef kRingMethods[] = {
    {"read", ring_read, METH_VARARGS,
     "read(bytes, timeout_ms): returns the bytes that have arrived, b'' at the end"},
    {"write", ring_write, METH_VARARGS, "write(buffer, timeout_ms): writes all of buffer"},
    {"fileno", ring_fileno, METH_NOARGS, "fileno(): returns the unix socket's descriptor"},
    {"close", ring_close, METH_NOARGS, "close(): closes the ring"},
    {}};
PyType_Slot kRingSlots[] = {
    {Py_tp_methods, kRingMethods}, {Py_tp_dealloc, reinterpret_cast<void*>(ring_dealloc)}, {}};
PyType_Spec kRingSpec = {"hatrpc._ring.Ring", sizeof(Ring), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kRingSlots};

PyTypeObject* ring_type = nullptr;

PyObject* wrap(std::unique_ptr<Socket> socket) {
  PyObject* self = ring_type->tp_alloc(ring_type, 0);
  if (self == nullptr) return nullptr;
  new (&reinterpret_cast<Ring*>(self)->socket) std::shared_ptr<Socket>(std::move(socket));
  return self;
}

PyObject* connect(PyObject*, PyObject* arguments) {
  const char* path = nullptr;
  int timeout_ms = 0;
  if (!PyArg_ParseTuple(arguments, "si", &path, &timeout_ms)) return nullptr;
  std::unique_ptr<Socket> socket;
  int error = 0;
  Py_BEGIN_ALLOW_THREADS error = Socket::connect(path, timeout_ms, socket);
  Py_END_ALLOW_THREADS return error == 0 ? wrap(std::move(socket)) : failed(error);
}

PyObject* accept(PyObject*, PyObject* arguments) {
  int fd = -1;
  int timeout_ms = 0;
  if (!PyArg_ParseTuple(arguments, "ii", &fd, &timeout_ms)) return nullptr;
  std::unique_ptr<Socket> socket;
  int error = 0;
  Py_BEGIN_ALLOW_THREADS error = Socket::open(Side::kAcceptor, fd, timeout_ms, socket);
  Py_END_ALLOW_THREADS return error == 0 ? wrap(std::move(socket)) : failed(error);
}

PyMethodDef kMethods[] = {{"connect", connect, METH_VARARGS,
                           "connect(path, timeout_ms): connects to a ring server; returns a Ring"},
                          {"accept", accept, METH_VARARGS,
                           "accept(fd, timeout_ms): returns a Ring, which owns the descriptor"},
                          {}};
PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "hatrpc._ring", "Rings of shared memory.", -1,
                       kMethods};

}  // namespace

PyMODINIT_FUNC PyInit__ring() {
  ring_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kRingSpec));
  return ring_type == nullptr ? nullptr : PyModule_Create(&kModule);
}
