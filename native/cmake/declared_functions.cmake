# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0

# Lists the functions that public headers declare.
function(declared_functions result)
  set(declared)
  foreach(header IN LISTS ARGN)
    file(READ ${header} content)
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" content "${content}")
    string(REGEX MATCHALL "ACL_FUNC_VISIBILITY[^(;#]*\\(" prototypes "${content}")
    foreach(prototype IN LISTS prototypes)
      string(REGEX REPLACE ".*[ *\n]([A-Za-z0-9_]+)\\($" "\\1" name "${prototype}")
      list(APPEND declared ${name})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES declared)
  list(FILTER declared EXCLUDE REGEX "^__attribute__$")  # the definition of the macro
  set(${result} ${declared} PARENT_SCOPE)
endfunction()
