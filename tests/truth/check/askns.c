/* SPDX-License-Identifier: Apache-2.0 */
/* A resolver client: asks several name servers over UDP with timeouts and retries, caches answers in a file. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAXNS 4

struct server {
    struct sockaddr_in addr;
    int sock;
    int fails;
};

struct query {
    uint16_t id;
    unsigned char pkt[512];
    size_t len;
};

struct answer {
    struct in_addr ip;
    uint32_t ttl;
};

static struct server ns[MAXNS];
static int nns;
static int cache_fd = -1;
static int verbose;

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts); /* @clock_gettime any */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool random_id(uint16_t *id)
{
    int fd;
    if (getrandom(id, sizeof *id, GRND_NONBLOCK) == (ssize_t)sizeof *id) /* @getrandom all */
        return true;
    fd = open("/dev/urandom", O_RDONLY); /* @open all */
    if (fd < 0)
        return false;
    if (read(fd, id, sizeof *id) < (ssize_t)sizeof *id) { /* @read all */
        close(fd); /* @close? none ignored */
        return false;
    }
    close(fd); /* @close? none ignored */
    return true;
}

__attribute__((noinline)) static int set_timeout(int sock, int which, long ms)
{
    struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
    return setsockopt(sock, SOL_SOCKET, which, &tv, sizeof tv); /* @setsockopt some */
}

static int add_server(const char *text)
{
    struct server *s = &ns[nns];
    if (nns == MAXNS)
        return -1;
    s->addr.sin_family = AF_INET;
    s->addr.sin_port = htons(53);
    if (inet_pton(AF_INET, text, &s->addr.sin_addr) != 1) /* @inet_pton all */
        return -1;
    s->sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* @socket all */
    if (s->sock >= 0) {
        set_timeout(s->sock, SO_SNDTIMEO, 500);
        if (set_timeout(s->sock, SO_RCVTIMEO, 2000) < 0)
            perror("askns: no timeout");
        if (connect(s->sock, (struct sockaddr *)&s->addr, sizeof s->addr) == 0) { /* @connect all */
            nns++;
            return 0;
        }
        close(s->sock); /* @close none ignored */
    }
    return -1;
}

static int read_resolv_conf(const char *path)
{
    char line[256], addr[64];
    FILE *f = fopen(path, "r"); /* @fopen all */
    int seen = 0;
    if (!f)
        return -errno;
    while (fgets(line, sizeof line, f)) { /* @fgets all */
        if (sscanf(line, "nameserver %63s", addr) == 1 && add_server(addr) == 0) /* @sscanf/__isoc99_sscanf/__isoc23_sscanf all */
            seen++;
    }
    if (ferror(f)) /* @ferror any */
        seen = -EIO;
    fclose(f); /* @fclose none ignored */
    return seen;
}

static bool build_query(struct query *q, const char *name)
{
    unsigned char *p = q->pkt + 12;
    char copy[256], *label, *save = NULL;
    if (!random_id(&q->id) || strlen(name) >= sizeof copy) /* @close? none ignored */
        return false;
    memset(q->pkt, 0, 12);
    memcpy(q->pkt, &q->id, 2);
    q->pkt[2] = 1;
    q->pkt[5] = 1;
    strcpy(copy, name);
    for (label = strtok_r(copy, ".", &save); label; label = strtok_r(NULL, ".", &save)) { /* @strtok_r any */
        size_t n = strlen(label);
        if (n > 63)
            return false;
        *p++ = (unsigned char)n;
        memcpy(p, label, n);
        p += n;
    }
    memcpy(p, "\0\0\1\0\1", 5);
    q->len = (size_t)(p + 5 - q->pkt);
    return true;
}

static ssize_t ask_one(struct server *s, struct query *q, unsigned char *buf, size_t cap)
{
    ssize_t n;
    if (send(s->sock, q->pkt, q->len, 0) != (ssize_t)q->len) { /* @send all */
        s->fails++;
        return -1;
    }
    do {
        n = recv(s->sock, buf, cap, 0); /* @recv all */
        if (n < 0) {
            if (errno == EINTR)
                continue;
            s->fails += errno == ECONNREFUSED ? 5 : 1;
            return -1;
        }
    } while (n < 12 || memcmp(buf, &q->id, 2));
    return n;
}

static int ask_all(struct query *q, unsigned char *buf, size_t cap, double limit)
{
    fd_set set;
    int max = -1, ready;
    double end = now() + limit;
    for (int i = 0; i < nns; i++)
        sendto(ns[i].sock, q->pkt, q->len, 0, NULL, 0); /* @sendto none ignored */
    while (now() < end) {
        struct timeval tv = { 0, 250000 };
        FD_ZERO(&set);
        for (int i = 0; i < nns; i++) {
            FD_SET(ns[i].sock, &set);
            if (ns[i].sock > max)
                max = ns[i].sock;
        }
        ready = select(max + 1, &set, NULL, NULL, &tv); /* @select all */
        if (ready <= 0) {
            if (ready < 0 && errno != EINTR)
                return -errno;
            continue;
        }
        for (int i = 0; i < nns; i++) {
            struct iovec iov = { buf, cap };
            struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
            ssize_t n;
            if (!FD_ISSET(ns[i].sock, &set))
                continue;
            n = recvmsg(ns[i].sock, &m, MSG_DONTWAIT); /* @recvmsg all */
            if (n >= 12 && !memcmp(buf, &q->id, 2))
                return (int)n;
        }
    }
    return -ETIMEDOUT;
}

static bool parse_answer(const unsigned char *p, size_t n, struct answer *a)
{
    if (n < 28 || (p[3] & 15) || !(p[6] << 8 | p[7]))
        return false;
    memcpy(&a->ip, p + n - 4, 4);
    memcpy(&a->ttl, p + n - 10, 4);
    a->ttl = ntohl(a->ttl);
    return true;
}

static void open_cache(const char *path)
{
    cache_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600); /* @open all */
}

static void cache_store(const char *name, const struct answer *a)
{
    struct iovec v[2];
    v[0].iov_base = (void *)name;
    v[0].iov_len = strlen(name) + 1;
    v[1].iov_base = (void *)a;
    v[1].iov_len = sizeof *a;
    if (cache_fd == -1)
        return;
    if (writev(cache_fd, v, 2) == -1 && verbose) /* @writev all */
        perror("cache");
}

static int cache_age(void)
{
    struct stat st;
    int rc = fstat(cache_fd, &st); /* @fstat none ignored/used/dereferenced/returned */
    if (verbose)
        fprintf(stderr, "cache: %d\n", rc); /* @fprintf any */
    return (int)(time(NULL) - st.st_mtime); /* @time any */
}

static int via_libc(const char *name, struct answer *a)
{
    struct addrinfo hints = { .ai_family = AF_INET }, *res;
    int rc = getaddrinfo(name, NULL, &hints, &res); /* @getaddrinfo some missing=EAI_AGAIN */
    if (rc == EAI_NONAME || rc == EAI_NODATA)
        return -1;
    memcpy(&a->ip, &((struct sockaddr_in *)res->ai_addr)->sin_addr, 4);
    a->ttl = 0;
    freeaddrinfo(res);
    return 0;
}

static bool have_network(void)
{
    struct ifaddrs *list, *i;
    bool up = false;
    if (getifaddrs(&list) < 0) /* @getifaddrs all */
        return true;
    for (i = list; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && strcmp(i->ifa_name, "lo"))
            up = true;
    freeifaddrs(list); /* @freeifaddrs any */
    return up && if_nametoindex("lo") != 0; /* @if_nametoindex all */
}

static const char *service_name(int port)
{
    struct servent *se = getservbyport(htons((uint16_t)port), "udp"); /* @getservbyport none dereferenced */
    return se->s_name;
}

static void bind_local(struct server *s, const char *dev)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    if (dev && setsockopt(s->sock, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev)) < 0) /* @setsockopt all */
        fprintf(stderr, "askns: %s: %m\n", dev); /* @fprintf any */
    if (bind(s->sock, (struct sockaddr *)&any, sizeof any) == 1) /* @bind none ignored/used/dereferenced/returned */
        exit(1);
}

int main(int argc, char **argv)
{
    unsigned char buf[1500];
    char text[INET_ADDRSTRLEN], host[256];
    struct query q;
    struct answer a;
    int n, tries = 3, rc = 1;
    if (argc < 2)
        return 2;
    if (argc > 2)
        tries = (int)strtol(argv[2], NULL, 10); /* @strtol/__isoc23_strtol none used */
    verbose = getenv("ASKNS_VERBOSE") ? 1 : 0; /* @getenv any */
    gethostname(host, sizeof host); /* @gethostname none ignored */
    if (!have_network() || read_resolv_conf("/etc/resolv.conf") <= 0) {
        fprintf(stderr, "askns: no servers for %s\n", service_name(53)); /* @fprintf any */
        return 1;
    }
    open_cache("/var/cache/askns");
    if (verbose && cache_age() > 3600)
        fputs("cache is old\n", stderr); /* @fputs/fwrite any */
    bind_local(&ns[0], argc > 3 ? argv[3] : NULL);
    if (!build_query(&q, strcmp(argv[1], ".") ? argv[1] : host))
        return 1;
    for (int i = 0; rc && i < tries; i++) {
        n = (int)ask_one(&ns[i % nns], &q, buf, sizeof buf);
        if (n < 0)
            n = ask_all(&q, buf, sizeof buf, 3.0);
        if (n > 0 && parse_answer(buf, (size_t)n, &a))
            rc = 0;
        else
            usleep(100000); /* @usleep any */
    }
    if (rc && via_libc(argv[1], &a) < 0)
        return 1;
    cache_store(argv[1], &a);
    if (!inet_ntop(AF_INET, &a.ip, text, sizeof text)) /* @inet_ntop all */
        return 1;
    return puts(text) == EOF || fflush(stdout) == EOF; /* @puts all; @fflush all */
}
