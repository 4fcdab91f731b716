# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -D NM=... -D LIBRARY=... -D INCLUDE=... [-D ALSO=what no header of INCLUDE declares] -P exported_symbols.cmake
file(GLOB_RECURSE headers ${INCLUDE}/*.h)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/declared_functions.cmake)
declared_functions(declared ${headers})

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ [A-Za-z] [^\n]+" lines "${lines}")
set(exported)
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^[0-9a-f]+ ([A-Za-z]) ([^@]+).*" "\\1;\\2" parts "${line}")
  list(GET parts 0 kind)
  list(GET parts 1 name)
  if(NOT kind STREQUAL "A")
    list(APPEND exported ${name})
  endif()
endforeach()

list(LENGTH declared declared_count)
if(declared_count LESS 100)
  message(FATAL_ERROR "only ${declared_count} declarations found in ${INCLUDE}: the pattern no longer fits the headers")
endif()
set(missing ${declared})
list(REMOVE_ITEM missing ${exported})
set(extra ${exported})
list(REMOVE_ITEM extra ${declared} ${ALSO})
# Instrumentation of the sanitizers, absent from the library that is shipped.
list(FILTER extra EXCLUDE REGEX "^__(asan|tsan|ubsan|odr_asan)")
if(missing OR extra)
  message(FATAL_ERROR "declared but not exported: ${missing}\nexported but not declared: ${extra}")
endif()
message(STATUS "${declared_count} functions declared and exported")
