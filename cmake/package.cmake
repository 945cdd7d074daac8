# The Debian packages; tools/package.sh makes them. One component, one package.
set(CFR_PACKAGE_RELEASE 1 CACHE STRING "Follows the version in Debian packages")
set(CFR_PACKAGE_VERSION ${PROJECT_VERSION}-${CFR_PACKAGE_RELEASE})
set(CFR_PACKAGE_MAINTAINER "The credfresh authors <maintainers@credfresh.invalid>" CACHE STRING "Debian's Maintainer")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME credfresh)
set(CPACK_PACKAGE_VENDOR credfresh)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${CFR_PACKAGE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CFR_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/libcredfresh)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)

# What Debian requires next to every package's files.
file(READ LICENSE license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" ignored "${license}")
set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: credfresh\n\n"
    "Files: *\nCopyright: ${CMAKE_MATCH_1}\nLicense: Expat\n")
string(REGEX REPLACE "^.*(Permission is hereby.*)$" "\\1" license "${license}")
string(REGEX REPLACE "\n\n" "\n.\n" license "${license}")
string(REGEX REPLACE "\n([^\n])" "\n \\1" license "${license}")
file(WRITE ${PROJECT_BINARY_DIR}/debian/copyright ${copyright} " " "${license}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/debian/changelog "credfresh (${CFR_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * Version ${PROJECT_VERSION}.\n\n -- ${CFR_PACKAGE_MAINTAINER}  ${date}\n")

# cfr_package(COMPONENT NAME SECTION SUMMARY TEXT), the last two in lines of at most 79 characters.
macro(cfr_package component name section summary text)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}")
    if(CFR_DEBIAN)
        install(FILES ${PROJECT_BINARY_DIR}/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
        install(FILES ${PROJECT_BINARY_DIR}/debian/changelog DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
            RENAME changelog.Debian COMPONENT ${component})
    endif()
endmacro()

# cfr_package_library(COMPONENT): what dpkg wants to know of a shared library. CPack's own way of it calls ldconfig itself.
macro(cfr_package_library component)
    set(files ${PROJECT_BINARY_DIR}/debian/${component})
    file(WRITE ${files}/shlibs
        "${component} ${PROJECT_VERSION_MAJOR} ${component}${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION})\n")
    file(WRITE ${files}/triggers "activate-noawait ldconfig\n")
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${files}/shlibs ${files}/triggers)
endmacro()

option(CFR_DEBIAN "Also install what only Debian packages have" OFF)
unset(CPACK_COMPONENTS_ALL)
cfr_package(credfresh credfresh admin "keeps short-lived cloud credentials fresh"
"Exchanges a token (of a Kubernetes service account, or another that is
renewed) for short-lived credentials of AWS, Google Cloud, Azure,
OpenStack or an OAuth server, writes them to the files that programs read, in
one step, and notifies the programs. It renews them before they expire.
.
This package has the agent with its systemd units, and credfresh-oidc, which
manages the key and the documents of a cluster's token issuer.")
set(CPACK_DEBIAN_CREDFRESH_PACKAGE_DEPENDS
    "systemd | systemd-standalone-sysusers | systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
set(CPACK_DEBIAN_CREDFRESH_PACKAGE_RECOMMENDS ca-certificates)
foreach(script postinst prerm postrm)
    list(APPEND CPACK_DEBIAN_CREDFRESH_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/systemd/debian/${script})
endforeach()

cfr_package(libcredfresh libcredfresh${PROJECT_VERSION_MAJOR} libs "follows directories of credentials that are replaced as a whole"
"For programs that read credentials, certificates or configuration from a
directory that is replaced in one step, as credfresh and Kubernetes do it. It
tells when there is something new, and reads all files of one generation.")
cfr_package_library(libcredfresh)

cfr_package(libcredfresh-tls libcredfresh-tls${PROJECT_VERSION_MAJOR} libs "keeps an OpenSSL context up to date with mounted certificates"
"For programs that serve or speak TLS with a certificate, a key and a CA bundle
from a directory that is replaced in one step.")
cfr_package_library(libcredfresh-tls)
set(CPACK_DEBIAN_LIBCREDFRESH-TLS_PACKAGE_DEPENDS "libcredfresh${PROJECT_VERSION_MAJOR} (= ${CFR_PACKAGE_VERSION})")

cfr_package(libcredfresh-dev libcredfresh-dev libdevel "follows directories of credentials (development files)"
"Header, static library, pkg-config and CMake files of libcredfresh, examples,
and its module for Python.")
set(CPACK_DEBIAN_LIBCREDFRESH-DEV_PACKAGE_DEPENDS "libcredfresh${PROJECT_VERSION_MAJOR} (= ${CFR_PACKAGE_VERSION})")

cfr_package(libcredfresh-tls-dev libcredfresh-tls-dev libdevel "keeps an OpenSSL context up to date (development files)"
"Header, static library, pkg-config and CMake files of libcredfresh-tls.")
set(CPACK_DEBIAN_LIBCREDFRESH-TLS-DEV_PACKAGE_DEPENDS
    "libcredfresh-tls${PROJECT_VERSION_MAJOR} (= ${CFR_PACKAGE_VERSION}), libcredfresh-dev (= ${CFR_PACKAGE_VERSION}), libssl-dev")

if(CFR_TESTS)
    cfr_package(testing credfresh-testing devel "small cloud on loopback, and a witness of published credentials"
"credfresh-localcloud replaces AWS STS, Google Cloud, Azure, OpenStack, an
OAuth server, the kubelet and a Kubernetes API server, as strict as they are,
with faults on request. credfresh-witness watches a published directory and
tells of every torn, mixed, empty or expired state that a consumer could see.")
endif()
include(CPack)
