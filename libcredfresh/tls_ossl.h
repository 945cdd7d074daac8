/* SPDX-License-Identifier: MIT */
/* The only place where libcredfresh-tls includes OpenSSL beyond <openssl/ssl.h>, which its public header brings. */
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
