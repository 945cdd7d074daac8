# SPDX-License-Identifier: MIT
"""libcredfresh for Python, through ctypes: this one file and libcredfresh.so.0.

    import credfresh
    with credfresh.Watcher("/run/credentials/registry") as watcher:
        while watcher.wait():                   # or poll on watcher.fileno() and call watcher.dispatch()
            snapshot = watcher.snapshot()       # all files of one generation
            use(snapshot["token"])
            credfresh.acknowledge(snapshot.generation, "/run/registry/in-use")

watcher.changed(sequence) asks in any thread, without a system call, whether there is anything newer. The bytes of a Snapshot
are copies in Python's memory, which nobody wipes.
"""
import ctypes
import os

_POLL_ONLY = 1
_CHANGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint), ("check_ms", ctypes.c_uint),
                ("poll_ms", ctypes.c_uint), ("bytes_max", ctypes.c_size_t), ("files_max", ctypes.c_size_t),
                ("names", ctypes.POINTER(ctypes.c_char_p)), ("name_count", ctypes.c_size_t), ("on_change", _CHANGE),
                ("context", ctypes.c_void_p)]


class _File(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Status(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("mode", ctypes.c_int), ("kind", ctypes.c_int), ("error", ctypes.c_int),
                ("reserved", ctypes.c_uint), ("sequence", ctypes.c_uint64), ("generation", ctypes.c_uint64),
                ("looks", ctypes.c_uint64), ("torn", ctypes.c_uint64), ("overflows", ctypes.c_uint64),
                ("mode_reason", ctypes.c_char * 200), ("error_text", ctypes.c_char * 400)]


def _load():
    library = ctypes.CDLL(os.environ.get("CREDFRESH_LIBRARY", "libcredfresh.so.0"))
    pointer, number, size = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
    text = (ctypes.c_char_p, size)
    for name, result, arguments in (
            ("open", ctypes.c_int, (ctypes.POINTER(pointer), ctypes.c_char_p, ctypes.POINTER(_Options), *text)),
            ("close", None, (pointer,)), ("fd", ctypes.c_int, (pointer,)), ("dispatch", ctypes.c_int, (pointer,)),
            ("wait", ctypes.c_int, (pointer, ctypes.c_int)), ("after_fork", ctypes.c_int, (pointer,)),
            ("changed", ctypes.c_int, (pointer, number)), ("acquire", pointer, (pointer,)), ("release", None, (pointer,)),
            ("snapshot_sequence", number, (pointer,)), ("snapshot_generation", number, (pointer,)),
            ("snapshot_time_ms", ctypes.c_int64, (pointer,)), ("snapshot_count", size, (pointer,)),
            ("snapshot_file", ctypes.POINTER(_File), (pointer, size)),
            ("snapshot_expiry", ctypes.c_int, (pointer, ctypes.POINTER(ctypes.c_int64))),
            ("status", ctypes.c_int, (pointer, ctypes.POINTER(_Status))), ("strerror", ctypes.c_char_p, (ctypes.c_int,)),
            ("ack", ctypes.c_int, (number, ctypes.c_char_p, *text))):
        function = getattr(library, "credfresh_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


class Error(Exception):
    """code is one of the CREDFRESH_E_ numbers."""

    def __init__(self, code, text=""):
        super().__init__(text or _library.credfresh_strerror(code).decode())
        self.code = code


class Snapshot(dict):
    """All files of one generation: name to bytes. expires is in seconds since 1970, or None."""

    def __init__(self, handle):
        super().__init__()
        self.sequence = _library.credfresh_snapshot_sequence(handle)
        self.generation = _library.credfresh_snapshot_generation(handle)
        self.time_ms = _library.credfresh_snapshot_time_ms(handle)
        for index in range(_library.credfresh_snapshot_count(handle)):
            file = _library.credfresh_snapshot_file(handle, index).contents
            self[file.name.decode("utf-8", "surrogateescape")] = ctypes.string_at(file.bytes, file.size)
        expires = ctypes.c_int64()
        self.expires = expires.value if _library.credfresh_snapshot_expiry(handle, ctypes.byref(expires)) == 0 else None


class Watcher:
    """Follows DIRECTORY. One thread at a time may dispatch or wait; any thread may ask for changed() and snapshot().
    After close() every other method raises ValueError, as those of a closed file do."""

    def __init__(self, directory, names=(), check_ms=0, poll_ms=0, poll_only=False):
        wanted = [os.fsencode(name) for name in names]
        options = _Options(ctypes.sizeof(_Options), _POLL_ONLY if poll_only else 0, check_ms, poll_ms, 0, 0,
                           (ctypes.c_char_p * len(wanted))(*wanted) if wanted else None, len(wanted))
        text = ctypes.create_string_buffer(400)
        self._handle = ctypes.c_void_p()
        code = _library.credfresh_open(ctypes.byref(self._handle), os.fsencode(directory), ctypes.byref(options), text,
                                       len(text))
        if code != 0:
            raise Error(code, text.value.decode("utf-8", "replace"))
        self._waited = 0

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            _library.credfresh_close(handle)

    def _open_handle(self):
        if not self._handle:  # to the library it would be a null pointer
            raise ValueError("the watcher is closed")
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def fileno(self):
        return _library.credfresh_fd(self._open_handle())

    def dispatch(self):
        """True if there is a new snapshot. What keeps it from being read is in status()["error_text"]."""
        return _library.credfresh_dispatch(self._open_handle()) == 1

    def wait(self, timeout_s=None):
        """Waits for a snapshot that no earlier wait() has returned for; the first one counts. False when the time is up."""
        if not self.changed(self._waited):
            code = _library.credfresh_wait(self._open_handle(), -1 if timeout_s is None else int(timeout_s * 1000))
            if code < 0:
                raise Error(code)
            if code == 0:
                return False
        self._waited = self.status()["sequence"]
        return True

    def after_fork(self):
        return _library.credfresh_after_fork(self._open_handle()) == 1

    def changed(self, sequence):
        return _library.credfresh_changed(self._open_handle(), sequence) == 1

    def snapshot(self):
        """The current Snapshot, or None."""
        handle = _library.credfresh_acquire(self._open_handle())
        if not handle:
            return None
        try:
            return Snapshot(handle)
        finally:
            _library.credfresh_release(handle)

    def status(self):
        status = _Status(ctypes.sizeof(_Status))
        code = _library.credfresh_status(self._open_handle(), ctypes.byref(status))
        if code != 0:
            raise Error(code)
        return {name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                for name, value in ((name, getattr(status, name)) for name, _ in _Status._fields_)}


def acknowledge(generation, path):
    """Tells credfresh that GENERATION is in use."""
    text = ctypes.create_string_buffer(400)
    code = _library.credfresh_ack(generation, os.fsencode(path), text, len(text))
    if code != 0:
        raise Error(code, text.value.decode("utf-8", "replace"))
