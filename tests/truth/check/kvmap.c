/* SPDX-License-Identifier: Apache-2.0 */
/* kvmap: a tiny key-value store in a mapped file.
 *
 *   kvmap FILE get KEY | put KEY VALUE | del KEY | list | load < dump | grow N
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4b564d31u
#define KEYLEN 48
#define VALLEN 192

typedef struct {
  uint32_t magic;
  uint32_t seed;
  uint64_t slots;
  uint64_t used;
} header_t;

typedef struct {
  char key[KEYLEN];
  char val[VALLEN];
} slot_t;

typedef struct {
  int fd;
  int err;
  size_t size;
  header_t *h;
  slot_t *slot;
  void *scratch;
} store_t;

typedef struct {
  int rc;
  int saved_errno;
} outcome_t;

static const char *path;

static outcome_t lock_store(store_t *s, short type)
{
  struct flock fl = { .l_type = type, .l_whence = SEEK_SET };
  outcome_t o;

  o.rc = fcntl(s->fd, F_SETLKW, &fl); /* @fcntl all */
  o.saved_errno = errno;
  return o;
}

static int try_lock(store_t *s)
{
  struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

  if (fcntl(s->fd, F_SETLK, &fl) == -1) /* @fcntl some missing=ENOLCK */
    if (errno == EACCES || errno == EAGAIN)
      return 0;
  return 1;
}

static size_t file_size(uint64_t slots)
{
  return sizeof(header_t) + slots * sizeof(slot_t);
}

static int map_store(store_t *s)
{
  void *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0); /* @mmap all */

  if (p == MAP_FAILED) {
    s->err = errno;
    return -1;
  }
  s->h = p;
  s->slot = (slot_t *)(s->h + 1);
  madvise(p, s->size, MADV_RANDOM); /* @madvise none ignored */
  return 0;
}

static int create_store(store_t *s, uint64_t slots)
{
  header_t h = { .magic = MAGIC, .slots = slots };
  int rc;

  if (getrandom(&h.seed, sizeof h.seed, 0) != (ssize_t)sizeof h.seed) /* @getrandom all */
    h.seed = 12345;
  s->size = file_size(slots);
  if (ftruncate(s->fd, s->size) < 0) { /* @ftruncate all */
    s->err = errno;
    return -1;
  }
  rc = posix_fallocate(s->fd, 0, s->size); /* @posix_fallocate some missing=EFBIG */
  if (rc == ENOSPC) {
    s->err = rc;
    return -1;
  }
  if (pwrite(s->fd, &h, sizeof h, 0) != sizeof h) { /* @pwrite all */
    s->err = EIO;
    return -1;
  }
  return 0;
}

static store_t *open_store(uint64_t slots)
{
  store_t *s = calloc(1, sizeof *s); /* @calloc none dereferenced */
  struct stat st;
  header_t h;
  size_t n;

  s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644); /* @open all */
  if (s == NULL)
    exit(1);
  if (s->fd < 0) {
    s->err = errno;
    return s;
  }
  fstat(s->fd, &st); /* @fstat none ignored */
  if (st.st_size == 0) {
    if (create_store(s, slots) < 0)
      return s;
  }
  n = pread(s->fd, &h, sizeof h, 0); /* @pread none used */
  if (n < sizeof h || h.magic != MAGIC) {
    s->err = EINVAL;
    return s;
  }
  s->size = file_size(h.slots);
  if (map_store(s))
    return s;
  if (posix_memalign(&s->scratch, 64, VALLEN) < 0) /* @posix_memalign none used */
    s->err = ENOMEM;
  return s;
}

static uint64_t hash(const store_t *s, const char *key)
{
  uint64_t v = 1469598103934665603u ^ s->h->seed;

  while (*key)
    v = (v ^ (unsigned char)*key++) * 1099511628211u;
  return v % s->h->slots;
}

static slot_t *find(store_t *s, const char *key, int want_free)
{
  uint64_t i = hash(s, key), n;

  for (n = 0; n < s->h->slots; n++, i = (i + 1) % s->h->slots) {
    if (!strncmp(s->slot[i].key, key, KEYLEN - 1))
      return &s->slot[i];
    if (!s->slot[i].key[0])
      return want_free ? &s->slot[i] : NULL;
  }
  return NULL;
}

static int flush_all(store_t *s)
{
  int bad = 0;

  bad |= msync(s->h, s->size, MS_SYNC) != 0; /* @msync all */
  bad |= fdatasync(s->fd) != 0; /* @fdatasync all */
  return bad;
}

static int cmd_get(store_t *s, char **arg)
{
  slot_t *e = find(s, arg[0], 0);

  if (!e)
    return 1;
  memcpy(s->scratch, e->val, VALLEN);
  return puts(s->scratch) == EOF; /* @puts all */
}

static int cmd_put(store_t *s, char **arg)
{
  slot_t *e = find(s, arg[0], 1);

  if (!e)
    return 1;
  if (!e->key[0])
    s->h->used++;
  snprintf(e->key, sizeof e->key, "%s", arg[0]); /* @snprintf none ignored */
  if (snprintf(e->val, sizeof e->val, "%s", arg[1]) >= VALLEN) /* @snprintf any */
    fprintf(stderr, "kvmap: value cut\n"); /* @fprintf/fwrite/fputs none ignored */
  return flush_all(s);
}

static int cmd_del(store_t *s, char **arg)
{
  slot_t *e = find(s, arg[0], 0);

  if (!e)
    return 1;
  memset(e->val, 0, sizeof e->val);
  strcpy(e->key, "\1");
  msync(s->h, s->size, MS_ASYNC); /* @msync none ignored */
  return 0;
}

static int cmd_list(store_t *s, char **arg)
{
  uint64_t i;

  (void)arg;
  for (i = 0; i < s->h->slots; i++)
    if ((unsigned char)s->slot[i].key[0] > 1)
      if (printf("%s\t%s\n", s->slot[i].key, s->slot[i].val) < 0) /* @printf all */
        return 1;
  if (fflush(stdout)) /* @fflush all */
    return 1;
  return 0;
}

static int cmd_load(store_t *s, char **arg)
{
  char line[512], *kv[2];
  int bad = 0;

  (void)arg;
  if (!try_lock(s)) {
    fputs("kvmap: in use\n", stderr); /* @fputs/fwrite none ignored */
    return 1;
  }
  while (fgets(line, sizeof line, stdin)) { /* @fgets all */
    line[strcspn(line, "\n")] = 0;
    kv[0] = line;
    kv[1] = strchr(line, '\t'); /* @strchr any */
    if (!kv[1])
      continue;
    *kv[1]++ = 0;
    bad += cmd_put(s, kv);
  }
  return bad;
}

/* Write a larger copy beside the store and move it into its place. */
static int cmd_grow(store_t *s, char **arg)
{
  char tmp[4096];
  store_t big = { .fd = -1 };
  uint64_t i, slots;
  int ret = 1;

  errno = 0;
  slots = strtoull(arg[0], NULL, 10); /* @strtoull all */
  if (errno == ERANGE || slots <= s->h->slots)
    return 1;
  if (snprintf(tmp, sizeof tmp, "%s.XXXXXX", path) >= sizeof tmp) /* @snprintf all */
    return 1;
  big.fd = mkstemp(tmp); /* @mkstemp all */
  if (big.fd == -1)
    return 1;
  if (create_store(&big, slots) < 0)
    goto out;
  big.h = mmap(NULL, big.size, PROT_READ | PROT_WRITE, MAP_SHARED, big.fd, 0); /* @mmap none dereferenced */
  if (big.h == NULL)
    goto out;
  big.slot = (slot_t *)(big.h + 1);
  for (i = 0; i < s->h->slots; i++) {
    slot_t *e;

    if ((unsigned char)s->slot[i].key[0] <= 1)
      continue;
    e = find(&big, s->slot[i].key, 1);
    if (!e)
      goto unmap;
    *e = s->slot[i];
    big.h->used++;
  }
  if (fchmod(big.fd, 0644) == -1) /* @fchmod all */
    perror("fchmod");
  if (flush_all(&big))
    goto unmap;
  if (rename(tmp, path) == -1) /* @rename all */
    goto unmap;
  ret = 0;
unmap:
  ret |= munmap(big.h, big.size) < 0; /* @munmap all */
out:
  if (ret && unlink(tmp) < 0 && errno == EACCES) /* @unlink some missing=EIO */
    perror(tmp);
  close(big.fd); /* @close none ignored */
  return ret;
}

static const struct command {
  const char *name;
  int args;
  short lock;
  int (*run)(store_t *, char **);
} commands[] = {
  { "get", 1, F_RDLCK, cmd_get },  { "put", 2, F_WRLCK, cmd_put },
  { "del", 1, F_WRLCK, cmd_del },  { "list", 0, F_RDLCK, cmd_list },
  { "load", 0, F_UNLCK, cmd_load }, { "grow", 1, F_WRLCK, cmd_grow },
};

int main(int argc, char **argv)
{
  long page = sysconf(_SC_PAGESIZE); /* @sysconf none used */
  const char *env = getenv("KVMAP_SLOTS"); /* @getenv all */
  uint64_t slots = 16 * (uint64_t)page / sizeof(slot_t);
  outcome_t lock;
  store_t *s;
  size_t i;
  int rc = 2;

  if (argc < 3) {
    fprintf(stderr, "usage: %s file command [args]\n", argv[0]); /* @fprintf none ignored */
    return 2;
  }
  if (env && sscanf(env, "%" SCNu64, &slots) != 1) /* @sscanf/__isoc99_sscanf all */
    return 2;
  path = argv[1];
  s = open_store(slots);
  if (s->err) {
    fprintf(stderr, "%s: %s\n", path, strerror(s->err)); /* @fprintf none ignored */
    return 1;
  }
  if (mlock(s->h, sizeof *s->h) && errno == ENOMEM) /* @mlock some missing=EPERM */
    perror("mlock");
  for (i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].name, argv[2]) || argc - 3 != commands[i].args)
      continue;
    lock = lock_store(s, commands[i].lock);
    if (lock.rc < 0) {
      fprintf(stderr, "lock: %s\n", strerror(lock.saved_errno)); /* @fprintf none ignored */
      return 1;
    }
    rc = commands[i].run(s, argv + 3);
  }
  if (rc != 0)
    fprintf(stderr, "%s: %s failed\n", path, argv[2]); /* @fprintf none ignored */
  if (munmap(s->h, s->size) != 0) /* @munmap all */
    perror("munmap");
  close(s->fd); /* @close none ignored */
  free(s->scratch);
  free(s);
  return rc;
}
