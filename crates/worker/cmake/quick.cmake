# How llama.cpp is compiled; cmake reads this after `project()` (CMAKE_PROJECT_INCLUDE in .cargo/config.toml).

# The helpers of its own programs: templates, grammars, an HTTP client. The worker has its own, and links none of them;
# llama-cpp-sys-2 asks for them by a default feature, which llama-cpp-2 cannot turn off.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# Training, reading files, and one device made of several.
function(isogloss_loads_lightly)
  if(MSVC OR NOT TARGET ggml-base)
    return()
  endif()
  get_target_property(folder ggml-base SOURCE_DIR)
  set_source_files_properties(${folder}/gguf.cpp ${folder}/ggml-opt.cpp ${folder}/ggml-backend-meta.cpp
    TARGET_DIRECTORY ggml-base PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
endfunction()

# The code of one model only describes its graph, once a batch, and computes nothing; other code runs when a model is
# loaded, or never: files, templates, samplers and media are read by the worker itself. Optimising it thoroughly takes a
# good part of a first build and gains nothing. The kernels (ggml), the tokenizer, what keeps the context, and what turns
# pictures and sound into patches stay at -O3.
string(CONCAT COLD "(clip|mtmd-helper|mtmd-helper-gen|unicode-data|llama-(adapter|arch|chat|cparams|grammar|hparams|impl|io"
  "|kv-cache-(dsa|dsa-iswa|dsv4|msa)|memory|memory-hybrid-idx|mmap|model|model-loader|model-saver|quant|sampler))")
function(isogloss_describes_lightly target)
  if(MSVC OR NOT TARGET ${target})
    return()
  endif()
  # A file's own option stands behind its target's, and the last -O counts. Models are compiled sixteen together,
  # since most of their time goes into the same headers; everything else by itself.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "(^|/)models/" OR NOT source MATCHES "[.]cpp$")
      continue()
    endif()
    get_filename_component(file ${source} ABSOLUTE BASE_DIR ${folder})
    set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(NOT source MATCHES "(^|/)${COLD}[.]cpp$")
      set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES
        COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
    endif()
  endforeach()
endfunction()

# Once, when every target is known. An older cmake knows no such moment, and compiles everything as llama.cpp has it.
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.19 AND CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  cmake_language(DEFER CALL isogloss_loads_lightly)
  cmake_language(DEFER CALL isogloss_describes_lightly llama)
  cmake_language(DEFER CALL isogloss_describes_lightly mtmd)
endif()
