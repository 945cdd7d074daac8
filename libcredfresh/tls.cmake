# libcredfresh-tls, for programs that serve or speak TLS: OpenSSL 3 and libcredfresh.
if(CFR_STATIC) # makes programs only
    return()
endif()
add_library(cfl_tls_objects OBJECT tls.c tls_hook.c tls_source.c tls_set.c)
target_link_libraries(cfl_tls_objects PRIVATE cfr_flags PkgConfig::SSL PkgConfig::CRYPTO)
target_include_directories(cfl_tls_objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
set_target_properties(cfl_tls_objects PROPERTIES C_VISIBILITY_PRESET hidden)

# cfl_tls_library(TARGET KIND EXPORT_NAME LIBCREDFRESH)
function(cfl_tls_library target kind export_name libcredfresh)
    add_library(${target} ${kind} $<TARGET_OBJECTS:cfl_tls_objects>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cfr_flags>
        PUBLIC ${libcredfresh} $<BUILD_INTERFACE:PkgConfig::SSL> $<BUILD_INTERFACE:PkgConfig::CRYPTO>
        $<INSTALL_INTERFACE:OpenSSL::SSL> $<INSTALL_INTERFACE:OpenSSL::Crypto>)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME credfresh-tls EXPORT_NAME ${export_name})
    install(TARGETS ${target} EXPORT credfresh-tlsTargets ARCHIVE COMPONENT libcredfresh-tls-dev
        LIBRARY COMPONENT libcredfresh-tls NAMELINK_COMPONENT libcredfresh-tls-dev)
endfunction()

cfl_tls_library(libcredfresh_tls_static STATIC tls-static libcredfresh_static)
cfl_tls_library(libcredfresh_tls SHARED credfresh-tls libcredfresh)
set_target_properties(libcredfresh_tls PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/libcredfresh-tls.map)
# OpenSSL calls back when it frees a context, whenever that is: the library is never unloaded.
target_link_options(libcredfresh_tls PRIVATE -Wl,-z,nodelete
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/libcredfresh-tls.map)

configure_file(credfresh-tls.pc.in credfresh-tls.pc @ONLY)
configure_package_config_file(credfresh-tlsConfig.cmake.in credfresh-tlsConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/credfresh-tls)
write_basic_package_version_file(credfresh-tlsConfigVersion.cmake COMPATIBILITY ${CFL_COMPATIBILITY})
install(FILES examples/tls_server.c DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcredfresh-dev/examples
    COMPONENT libcredfresh-tls-dev)
install(FILES include/credfresh-tls.h TYPE INCLUDE COMPONENT libcredfresh-tls-dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/credfresh-tls.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT libcredfresh-tls-dev)
install(EXPORT credfresh-tlsTargets NAMESPACE credfresh:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/credfresh-tls
    COMPONENT libcredfresh-tls-dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/credfresh-tlsConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/credfresh-tlsConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/credfresh-tls COMPONENT libcredfresh-tls-dev)

if(CFR_TESTS)
    add_test(NAME reload_tls_exports COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check-exports.sh
        $<TARGET_FILE:libcredfresh_tls> ${CMAKE_CURRENT_SOURCE_DIR}/include/credfresh-tls.h)
endif()
