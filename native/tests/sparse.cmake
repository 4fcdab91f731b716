# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# The sparse operators' tests.
add_api_test(sparse_task_list sparse_task_list.cpp)
target_sources(sparse_task_list PRIVATE ${PROJECT_SOURCE_DIR}/native/ops/sparse_attention/task_list.cpp
                                        ${PROJECT_SOURCE_DIR}/native/ops/sparse_attention/task_shares.cpp)
target_include_directories(sparse_task_list PRIVATE ${PROJECT_SOURCE_DIR}/native)

add_api_test(sparse_c sparse.c)
target_link_libraries(sparse_c PRIVATE m)

# The profile and the edition of the rules are the environment's.
add_executable(sparse_rules sparse_rules.cpp sparse_refused.cpp)
target_link_libraries(sparse_rules PRIVATE acl_attn Threads::Threads)
foreach(profile host ascend950 ascend910b)
  foreach(edition page newest)
    add_test(NAME sparse_rules_${profile}_${edition} COMMAND sparse_rules)
    set_tests_properties(sparse_rules_${profile}_${edition} PROPERTIES
      TIMEOUT 120 ENVIRONMENT "ACL_ATTN_PROFILE=${profile};ACL_ATTN_RULES=${edition}")
  endforeach()
endforeach()

# Neither names a profile or an edition.
add_executable(sparse_environment sparse_environment.cpp)
target_link_libraries(sparse_environment PRIVATE acl_attn Threads::Threads)
foreach(variable PROFILE RULES)
  add_test(NAME sparse_environment_${variable} COMMAND sparse_environment)
  set_tests_properties(sparse_environment_${variable} PROPERTIES
    TIMEOUT 120 ENVIRONMENT "ACL_ATTN_${variable}=ascend9000")
endforeach()

foreach(test sparse_two_phase sparse_values)
  add_api_test(${test} ${test}.cpp)
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "ACL_ATTN_PROFILE=host")
endforeach()

add_executable(sparse_chips sparse_chips.cpp)
target_link_libraries(sparse_chips PRIVATE acl_attn Threads::Threads)
foreach(chip Ascend910B1 Ascend950PR_950z Ascend950PR_9589)
  add_test(NAME sparse_chips_${chip} COMMAND sparse_chips)
  set_tests_properties(sparse_chips_${chip} PROPERTIES
    TIMEOUT 120 ENVIRONMENT "ACL_ATTN_SOC_NAME=${chip};ACL_ATTN_PROFILE=host")
endforeach()

add_api_test(sparse_fuzz sparse_fuzz.cpp)
set_tests_properties(sparse_fuzz PROPERTIES TIMEOUT 600 ENVIRONMENT "ACL_ATTN_PROFILE=host")
