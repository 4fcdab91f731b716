# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
# The generated extension: its functions are those of the C headers, which say more than types here could.
from typing import Any, TypeAlias, overload

class ffi:
    CData: TypeAlias = Any
    NULL: Any
    @staticmethod
    def new(cdecl: str, init: Any = ...) -> Any: ...
    @staticmethod
    def cast(cdecl: str, source: Any) -> Any: ...
    @staticmethod
    def gc(cdata: Any, destructor: Any, size: int = ...) -> Any: ...
    @staticmethod
    def typeof(cdata: Any) -> Any: ...
    @staticmethod
    def string(cdata: Any, maxlen: int = ...) -> bytes: ...
    @overload
    @staticmethod
    def from_buffer(python_buffer: Any, /) -> Any: ...
    @overload
    @staticmethod
    def from_buffer(cdecl: Any, python_buffer: Any, require_writable: bool = ...) -> Any: ...

lib: Any
