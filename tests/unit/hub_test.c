/* SPDX-License-Identifier: Apache-2.0 */
/* What a hub decides, whom it takes for whom, and which addresses it understands. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "hub/hub.h"

static size_t meet(struct hub_state *s, uint32_t pid) {
  struct wire_hub_hello hello = {.pid = pid, .process = 1, .host = "here", .name = "p", .identity = pid + 1000};
  size_t at = 0;
  assert_int_equal(hub_meet(s, &hello, &at), 0);
  return at;
}

/* Questions of the processes in WHO, "abca"; the answers as "x.." */
static void ask(struct hub_state *s, const char *who, const char *want) {
  char got[64] = {0};
  for (size_t i = 0; who[i]; i++) {
    s->asked++;
    got[i] = hub_decide(s, (size_t)(who[i] - 'a'), NULL) ? 'x' : '.';
  }
  assert_string_equal(got, want);
}

static struct hub_state state(const char *policy, unsigned processes) {
  struct hub_state s = {0};
  struct err e = {0};
  assert_int_equal(hub_policy_parse(policy, &s.policy, &e), 0);
  for (unsigned i = 0; i < processes; i++)
    assert_int_equal(meet(&s, 100 + i), i);
  return s;
}

static void turns_go_round(void **unused) {
  (void)unused;
  struct hub_state s = state("round-robin", 3);
  ask(&s, "bcaabbccaa", "..x.x.x.x.");
  hub_leave(&s, 1); /* b is gone, and it was its turn */
  ask(&s, "abca", "..xx");
  vec_done(&s.processes);
}

static void limits_hold(void **unused) {
  (void)unused;
  struct hub_state s = state("round-robin", 2);
  s.policy.every = 3;
  s.policy.after = 2;
  s.policy.limit = 2;
  ask(&s, "ababababababab", "..x..x........");
  vec_done(&s.processes);
}

static void the_nth_of_all(void **unused) {
  (void)unused;
  struct hub_state s = state("nth=4", 2);
  ask(&s, "abbaba", "...x..");
  vec_done(&s.processes);
}

static void at_most_so_many(void **unused) {
  (void)unused;
  struct hub_state s = state("at-most=1", 3);
  ask(&s, "babcb", "x.x.x");
  hub_leave(&s, 1);
  ask(&s, "cac", "x.x");
  vec_done(&s.processes);
}

static void a_script_decides(void **unused) {
  (void)unused;
  struct hub_state s = state("script=true", 1);
  bool yes = true, no = false;
  s.asked++;
  assert_true(hub_decide(&s, 0, &yes));
  assert_false(hub_decide(&s, 0, &no));
  assert_false(hub_decide(&s, 0, NULL));
  vec_done(&s.processes);
}

static void processes_are_told_apart(void **unused) {
  (void)unused;
  struct hub_state s = {0};
  assert_int_equal(meet(&s, 7), 0);
  assert_int_equal(meet(&s, 8), 1);
  assert_int_equal(meet(&s, 7), 0); /* another thread of it */
  assert_int_equal(s.processes.at[0].connections, 2);
  /* In another namespace all may be equal but what it has drawn. */
  struct wire_hub_hello elsewhere = {.pid = 7, .process = 1, .host = "here", .name = "p", .identity = 5};
  size_t at = 0;
  assert_int_equal(hub_meet(&s, &elsewhere, &at), 0);
  assert_int_equal(at, 2);
  /* Names need not end. */
  memset(elsewhere.host, 'x', sizeof elsewhere.host);
  elsewhere.identity = 6;
  assert_int_equal(hub_meet(&s, &elsewhere, &at), 0);
  assert_int_equal(strlen(s.processes.at[at].host), WIRE_HUB_NAME - 1);
  vec_done(&s.processes);
}

static void policies_are_understood(void **unused) {
  (void)unused;
  static const char *const bad[] = {"",       "nth",     "nth=",   "nth=0",   "nth=x", "never=1",
                                    "script", "script=", "choose", "choose=", "robin", "at-most=-1"};
  struct hub_policy p = {0};
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct err e = {0};
    assert_true(hub_policy_parse(bad[i], &p, &e) < 0);
    assert_true(e.text[0]);
  }
  struct err e = {0};
  assert_int_equal(hub_policy_parse("script=a=b", &p, &e), 0);
  assert_string_equal(p.script, "a=b");
  assert_false(p.choose);
  assert_int_equal(hub_policy_parse("choose=a=b", &p, &e), 0);
  assert_string_equal(p.script, "a=b");
  assert_true(p.choose);
}

static void addresses_come_back(void **unused) {
  (void)unused;
  static const char *const good[][2] = {{"unix:/tmp/x", "unix:/tmp/x"},
                                        {"/tmp/x", "unix:/tmp/x"},
                                        {"tcp:127.0.0.1:80", "tcp:127.0.0.1:80"},
                                        {"127.0.0.1:80", "tcp:127.0.0.1:80"},
                                        {"tcp:[::1]:65535", "tcp:[::1]:65535"}};
  static const char *const bad[] = {
      "", "unix:", "tcp:", "here", ":80", "tcp:127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "tcp:no such host:1"};
  struct hub_address a;
  for (size_t i = 0; i < COUNT(good); i++) {
    struct err e = {0};
    struct text t = {0};
    assert_int_equal(hub_address_parse(good[i][0], &a, &e), 0);
    hub_address_text(&a, &t);
    assert_string_equal(t.at, good[i][1]);
    assert_true(a.size <= WIRE_ADDRESS);
    text_done(&t);
  }
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct err e = {0};
    assert_true(hub_address_parse(bad[i], &a, &e) < 0);
    assert_true(e.text[0]);
  }
  static const char *const other[] = {"udp:x", "udp:127.0.0.1:9", "http://127.0.0.1:80", "udp:/tmp/x"};
  for (size_t i = 0; i < COUNT(other); i++) {
    struct err e = {0};
    assert_int_equal(hub_address_parse(other[i], &a, &e), -EINVAL);
    assert_non_null(strstr(e.text, "is no address of a hub (write unix:PATH"));
  }
  char path[200] = "unix:/";
  struct err e = {0};
  memset(path + 6, 'x', sizeof path - 7);
  assert_true(hub_address_parse(path, &a, &e) < 0);
}

static void nobody_is_there(void **unused) {
  (void)unused;
  struct hub_address a;
  struct err e = {0};
  assert_int_equal(hub_address_parse("unix:/nowhere/at/all", &a, &e), 0);
  assert_true(hub_probe(&a, 100, &e) < 0);
  assert_non_null(strstr(e.text, "no hub answers at unix:/nowhere/at/all"));
}

static void a_question_is_a_line(void **unused) {
  (void)unused;
  struct hub_process p = {.number = 2, .pid = 7, .process = 1, .host = "h", .name = "p\"q"};
  struct wire_hub_ask q = {
      .tid = 8, .n_args = 99, .call = 3, .stack = 0xabc, .args = {1, 2, 3, 4, 5, 6}, .n_frames = 99};
  struct text t = {0};
  bool yes = true;
  memset(q.function, 'f', sizeof q.function);
  hub_log_line(&p, &q, 5, &yes, &t);
  assert_false(t.failed);
  assert_non_null(strstr(t.at, "\"seq\":5,\"member\":2"));
  assert_non_null(strstr(t.at, "\"name\":\"p\\\"q\""));
  assert_non_null(strstr(t.at, "\"args\":[1,2,3,4,5,6],"));
  assert_non_null(strstr(t.at, "\"inject\":true}\n"));
  text_done(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(turns_go_round),          cmocka_unit_test(limits_hold),
      cmocka_unit_test(the_nth_of_all),          cmocka_unit_test(at_most_so_many),
      cmocka_unit_test(a_script_decides),        cmocka_unit_test(processes_are_told_apart),
      cmocka_unit_test(policies_are_understood), cmocka_unit_test(addresses_come_back),
      cmocka_unit_test(nobody_is_there),         cmocka_unit_test(a_question_is_a_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
