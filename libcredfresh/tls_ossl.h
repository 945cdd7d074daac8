/* SPDX-License-Identifier: MIT */
/* The OpenSSL headers of libcredfresh-tls, beyond <openssl/ssl.h>, which its public header includes. */
#ifndef CREDFRESH_TLS_OSSL_H
#define CREDFRESH_TLS_OSSL_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#endif
