/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small replicated key-value store, to be tested with a hub: three replicas on loopback, messages over UDP.
 *
 *   replica PORT N      replica N (1, 2, 3) at PORT + N; 1 is the leader
 *   replica PORT set K  a client: sets K keys, then compares what the replicas have, and ends them. Exit status 0 if all
 *                       that still answer agree and at least two do
 *
 * The leader numbers each request and sends it to the others (PREPARE); when one of them has it, a majority has, and it
 * tells all up to which number they may carry requests out (COMMIT). Datagrams get lost, so clients and COMMIT repeat.
 *
 * It has the kind of bug that the LFI paper found in PBFT: a replica that is told to carry out a request which never
 * reached it looks into an empty place of its log. Built with -DCAREFUL it asks the leader for the request instead.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLICAS = 3, KEYS = 64, LOG = 4096, PATIENCE_MS = 50, ATTEMPTS = 40 };
enum kind { SET = 1, PREPARE, HAVE, COMMIT, FETCH, DONE, SUM, SUMMED, END };

struct message {
  uint32_t kind, number, key, value;
};

static int sock, base;
static struct message *log_of[LOG];
static uint32_t store[KEYS], carried_out, committed, last_number;

static struct sockaddr_in address(int n) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)(base + n)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Whether it arrives is nobody's business: it is sent again where that matters. */
static void tell(struct sockaddr_in to, struct message m) {
  (void)sendto(sock, &m, sizeof m, 0, (struct sockaddr *)&to, sizeof to);
}

static int hear(struct message *m, struct sockaddr_in *from, int patience) {
  struct pollfd p = {.fd = sock, .events = POLLIN};
  socklen_t size = sizeof *from;
  if (poll(&p, 1, patience) <= 0) return 0;
  return recvfrom(sock, m, sizeof *m, 0, (struct sockaddr *)from, &size) == (ssize_t)sizeof *m;
}

static void remember(const struct message *m) {
  if (m->number >= LOG || log_of[m->number]) return;
  log_of[m->number] = malloc(sizeof *m);
  if (log_of[m->number]) *log_of[m->number] = *m;
}

/* Carries out all requests up to NUMBER. */
static void carry_out(uint32_t number) {
  while (carried_out < number && carried_out + 1 < LOG) {
    const struct message *m = log_of[carried_out + 1];
#ifdef CAREFUL
    if (!m) {
      tell(address(1), (struct message){.kind = FETCH, .number = carried_out + 1});
      return;
    }
#endif
    store[m->key % KEYS] = m->value;
    carried_out++;
  }
}

static uint32_t sum(void) {
  uint32_t s = carried_out;
  for (unsigned i = 0; i < KEYS; i++)
    s = s * 31 + store[i];
  return s;
}

/* The leader has heard that somebody else has NUMBER. */
static void commit(uint32_t number) {
  if (number <= committed) return;
  committed = number;
  carry_out(committed);
  for (int n = 2; n <= REPLICAS; n++)
    tell(address(n), (struct message){.kind = COMMIT, .number = committed});
  tell(address(0), (struct message){.kind = DONE, .number = committed});
}

/* A request of the client, for the first time or again. */
static void lead(const struct message *m) {
  if (m->number <= committed) tell(address(0), (struct message){.kind = DONE, .number = m->number});
  if (m->number > last_number + 1 || m->number <= committed) return;
  last_number = m->number;
  struct message prepare = {PREPARE, m->number, m->key, m->value};
  remember(&prepare);
  for (int n = 2; n <= REPLICAS; n++)
    tell(address(n), prepare);
}

static void give(struct sockaddr_in to, uint32_t number) {
  if (number < LOG && log_of[number]) tell(to, *log_of[number]);
  tell(to, (struct message){.kind = COMMIT, .number = committed});
}

/* Its sum, once it has all that the client has set: the last COMMIT may be on the way, or lost. */
static void report(const struct message *m) {
  if (carried_out >= m->value)
    tell(address(0), (struct message){.kind = SUMMED, .number = m->number, .value = sum()});
  else
    tell(address(1), (struct message){.kind = FETCH, .number = carried_out + 1});
}

static int serve(int self) {
  for (;;) {
    struct message m;
    struct sockaddr_in from;
    if (!hear(&m, &from, -1)) continue;
    switch ((enum kind)m.kind) {
    case SET:
      if (self == 1) lead(&m);
      break;
    case PREPARE:
      remember(&m);
      tell(address(1), (struct message){.kind = HAVE, .number = m.number});
      break;
    case HAVE:
      commit(m.number);
      break;
    case COMMIT:
      carry_out(m.number);
      break;
    case FETCH:
      give(from, m.number);
      break;
    case SUM:
      report(&m);
      break;
    case END:
      return 0;
    default:
      break;
    }
  }
}

/* Asks N until it answers; 0 if it does not. */
static int ask(int n, struct message request, enum kind answer, uint32_t *ret) {
  for (int i = 0; i < ATTEMPTS; i++) {
    struct message m;
    struct sockaddr_in from;
    tell(address(n), request);
    while (hear(&m, &from, PATIENCE_MS))
      if (m.kind == answer && m.number == request.number && ntohs(from.sin_port) == base + n) {
        *ret = m.value;
        return 1;
      }
  }
  return 0;
}

static int client(uint32_t keys) {
  uint32_t sums[REPLICAS + 1] = {0}, ignored;
  int alive = 0, agree = 0;
  for (uint32_t i = 1; i <= keys; i++)
    if (!ask(1, (struct message){SET, i, i * 7, i}, DONE, &ignored)) return printf("request %u is lost\n", i), 1;
  for (int n = 1; n <= REPLICAS; n++) {
    int here = ask(n, (struct message){.kind = SUM, .number = (uint32_t)n, .value = keys}, SUMMED, &sums[n]);
    printf("replica %d: %s\n", n, !here ? "does not answer" : sums[n] == sums[1] ? "agrees" : "DIFFERS");
    alive += here;
    agree += here && sums[n] == sums[1];
  }
  for (int n = 1; n <= REPLICAS; n++)
    tell(address(n), (struct message){.kind = END});
  return alive >= 2 && agree == alive ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  base = atoi(argv[1]);
  int self = argc > 3 ? 0 : atoi(argv[2]);
  struct sockaddr_in own = address(self);
  sock = socket(AF_INET, SOCK_DGRAM, 0);
  if (sock < 0 || bind(sock, (struct sockaddr *)&own, sizeof own) < 0) return perror("bind"), 2;
  return argc > 3 ? client((uint32_t)atoi(argv[3])) : serve(self);
}
