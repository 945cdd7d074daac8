/* SPDX-License-Identifier: MIT */
/* Lists of connections in the order of their last activity. */
#include "agent/httpd/connections_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct cfr_httpd_connection_list *find_list(struct cfr_httpd_connections *g,
                                                   const struct cfr_httpd_connection *one)
{
    return one->served ? &g->served : &g->unserved;
}

struct cfr_httpd_group *cfr_httpd_connections_group(struct cfr_httpd_connections *g, const unsigned char *key, size_t n)
{
    struct cfr_httpd_group *one = g->groups;

    while (one != NULL && (one->key_n != n || memcmp(one->key, key, n) != 0))
        one = one->next;
    if (one != NULL)
        return one;
    one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    memcpy(one->key, key, n);
    one->key_n = n;
    one->next = g->groups;
    g->groups = one;
    return one;
}

void cfr_httpd_connections_tidy(struct cfr_httpd_connections *g)
{
    struct cfr_httpd_group **link = &g->groups;

    while (*link != NULL) {
        struct cfr_httpd_group *one = *link;

        if (one->newcomers != 0 || one->count != 0) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        free(one);
    }
}

static void append(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    one->before = list->newest;
    one->after = NULL;
    if (list->newest != NULL)
        list->newest->after = one;
    else
        list->oldest = one;
    list->newest = one;
    list->count++;
    one->group->count++;
    one->group->unserved += !one->served;
}

static void remove_from(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    if (one->before != NULL)
        one->before->after = one->after;
    else
        list->oldest = one->after;
    if (one->after != NULL)
        one->after->before = one->before;
    else
        list->newest = one->before;
    list->count--;
    one->group->count--;
    one->group->unserved -= !one->served;
}

struct cfr_httpd_connection *cfr_httpd_connections_come(struct cfr_httpd_connections *g, struct cfr_httpd_group *group,
                                                        int fd, int64_t now_boot_ms)
{
    struct cfr_httpd_connection *one = calloc(1, sizeof *one);

    if (one == NULL)
        return NULL;
    one->group = group;
    one->fd = fd;
    one->since_boot_ms = now_boot_ms;
    one->owed = true;
    append(&g->unserved, one);
    return one;
}

void cfr_httpd_connections_active(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one, bool served,
                                  int64_t now_boot_ms)
{
    if (one == NULL || one->ended)
        return;
    remove_from(find_list(g, one), one);
    one->served = one->served || served;
    one->since_boot_ms = now_boot_ms;
    append(find_list(g, one), one);
}

void cfr_httpd_connections_move(struct cfr_httpd_connection *one, struct cfr_httpd_group *group)
{
    if (one == NULL || one->ended)
        return;
    one->group->count--;
    one->group->unserved -= !one->served;
    one->group = group;
    group->count++;
    group->unserved += !one->served;
}

void cfr_httpd_connections_owe(struct cfr_httpd_connection *one, bool owed)
{
    if (one != NULL)
        one->owed = owed;
}

static bool has_owed(const struct cfr_httpd_connection_list *list)
{
    for (const struct cfr_httpd_connection *one = list->oldest; one != NULL; one = one->after) {
        if (one->owed)
            return true;
    }
    return false;
}

bool cfr_httpd_connections_owed(const struct cfr_httpd_connections *g)
{
    return has_owed(&g->unserved) || has_owed(&g->served);
}

void cfr_httpd_connections_go(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one)
{
    if (one == NULL)
        return;
    if (!one->ended)
        remove_from(find_list(g, one), one);
    free(one);
}

/* Its group may go before it. */
static void end(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    remove_from(list, one);
    one->ended = true;
    /* Not closed: the descriptor belongs to the HTTP library. */
    (void)shutdown(one->fd, SHUT_RDWR);
}

static void end_oldest(struct cfr_httpd_connection_list *list)
{
    end(list, list->oldest);
}

static struct cfr_httpd_connection *find_oldest(const struct cfr_httpd_connection_list *list,
                                                const struct cfr_httpd_group *group)
{
    struct cfr_httpd_connection *one = list->oldest;

    while (one != NULL && one->group != group)
        one = one->after;
    return one;
}

void cfr_httpd_connections_make_room_in(struct cfr_httpd_connections *g, struct cfr_httpd_group *group, size_t max)
{
    while (group->count > max) {
        bool unserved = group->unserved > group->count / 4 || group->unserved == group->count;
        struct cfr_httpd_connection_list *list = unserved ? &g->unserved : &g->served;
        struct cfr_httpd_connection *oldest = find_oldest(list, group);

        if (oldest == NULL)
            return;
        end(list, oldest);
    }
}

void cfr_httpd_connections_make_room(struct cfr_httpd_connections *g, size_t max)
{
    while (g->unserved.count + g->served.count > max) {
        struct cfr_httpd_group *largest = NULL;

        for (struct cfr_httpd_group *one = g->groups; one != NULL; one = one->next) {
            if (largest == NULL || one->count > largest->count)
                largest = one;
        }
        if (largest == NULL)
            return;
        cfr_httpd_connections_make_room_in(g, largest, largest->count - 1);
    }
}

static void end_idle(struct cfr_httpd_connection_list *list, int64_t before_boot_ms)
{
    while (list->oldest != NULL && list->oldest->since_boot_ms < before_boot_ms)
        end_oldest(list);
}

void cfr_httpd_connections_end_idle(struct cfr_httpd_connections *g, int64_t before_boot_ms)
{
    end_idle(&g->unserved, before_boot_ms);
    end_idle(&g->served, before_boot_ms);
}

int64_t cfr_httpd_connections_oldest(const struct cfr_httpd_connections *g)
{
    int64_t a = g->unserved.oldest != NULL ? g->unserved.oldest->since_boot_ms : INT64_MAX;
    int64_t b = g->served.oldest != NULL ? g->served.oldest->since_boot_ms : INT64_MAX;

    return a < b ? a : b;
}
