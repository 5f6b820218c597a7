/* SPDX-License-Identifier: Apache-2.0 */
/* A library with one function, for measuring what a call of it costs. */
long target_nothing(long a);
long target_nothing(long a) { return a; }
