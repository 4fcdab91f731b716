# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
add_api_test(runtime_process runtime_process.cpp)
set_tests_properties(runtime_process PROPERTIES
  ENVIRONMENT "ACL_ATTN_DEVICE_COUNT=2;ACL_ATTN_SOC_NAME=Ascend910B3;${sanitizer_environment}")
set(runtime_tests streams events memory fork)
# The thread sanitizer cannot follow a child of a process with threads that starts threads of its own: it ends the child
# ("dup thread with used id").
if(ACL_ATTN_SANITIZE MATCHES "thread")
  list(REMOVE_ITEM runtime_tests fork)
endif()
foreach(name IN LISTS runtime_tests)
  add_api_test(runtime_${name} runtime_${name}.cpp)
  set_tests_properties(runtime_${name} PROPERTIES ENVIRONMENT "${sanitizer_environment}")
endforeach()

# The process ends in the middle of things: objects that are still alive then are the point, not a leak.
add_executable(runtime_exit runtime_exit.cpp)
target_link_libraries(runtime_exit PRIVATE acl_attn Threads::Threads)
foreach(way plain blocked thread task late)
  add_test(NAME runtime_exit_${way} COMMAND runtime_exit ${way})
  set_tests_properties(runtime_exit_${way} PROPERTIES TIMEOUT 30
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0;TSAN_OPTIONS=report_thread_leaks=0")
endforeach()
