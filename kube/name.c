/* SPDX-License-Identifier: MIT */
/* Checks of names of Kubernetes objects. */
#include "kube/name_private.h"

#include <stddef.h>
#include <string.h>

static bool alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A name of at most MAX characters, in which JOINT separates labels; '\0' allows one label only. */
static bool is_name(const char *text, size_t max, char joint)
{
    size_t n = text != NULL ? strlen(text) : 0;

    if (n == 0 || n > max)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || text[i - 1] == joint;
        bool last = i + 1 == n || text[i + 1] == joint;

        if (alphanumeric(text[i]))
            continue;
        if (text[i] == '-' && !first && !last)
            continue;
        if (text[i] == joint && !first && i + 1 != n)
            continue;
        return false;
    }
    return true;
}

bool cfr_k8s_name_is_label(const char *text)
{
    return is_name(text, CFR_K8S_LABEL_MAX, '\0');
}

bool cfr_k8s_name_is_subdomain(const char *text)
{
    return is_name(text, CFR_K8S_NAME_MAX, '.');
}
