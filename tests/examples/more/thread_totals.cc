/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads count parts of a log. A constructor that throws in the middle of it leaves threads behind that nobody joins.
 *
 * build: -pthread
 * setup: for i in $(seq 0 60); do echo "10.0.0.$((i % 7 + 1)) - - [$i] \"GET /page$i.html\" 200 $((i * 37))"; done >access.log
 * args: access.log
 * expect: abort
 */
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using Totals = std::map<std::string, long>;

static void count(const std::vector<std::string> &lines, size_t lo, size_t hi, Totals &t)
{
    for (size_t i = lo; i < hi; i++) {
        std::string ip = lines[i].substr(0, lines[i].find(' '));
        t[ip] += std::stol(lines[i].substr(lines[i].rfind(' ') + 1));
    }
}

static int run(const char *path)
{
    std::ifstream in(path);
    if (!in) {
        std::cerr << path << ": cannot open\n";
        return 1;
    }
    std::vector<std::string> lines;
    for (std::string l; std::getline(in, l);)
        lines.push_back(l);
    if (in.bad()) {
        std::cerr << path << ": read error\n";
        return 1;
    }
    const size_t N = 3, step = (lines.size() + N - 1) / N;
    std::vector<Totals> part(N);
    std::vector<std::thread> th;
    th.reserve(N);
    for (size_t i = 0; i < N; i++) {
        size_t lo = std::min(i * step, lines.size()), hi = std::min(lo + step, lines.size());
#ifndef FIXED
        th.emplace_back(count, std::cref(lines), lo, hi, std::ref(part[i]));
#else 
        try {
            th.emplace_back(count, std::cref(lines), lo, hi, std::ref(part[i]));
        } catch (const std::exception &) {
            part[i].clear();
            count(lines, lo, hi, part[i]);      // no thread: here and now
        }
#endif 
    }
    for (auto &t : th)
        t.join();
    Totals all;
    for (auto &p : part)
        for (auto &kv : p)
            all[kv.first] += kv.second;
    for (auto &kv : all)
        std::cout << kv.first << ' ' << kv.second << '\n';
    std::cout.flush();
    if (!std::cout) {
        std::cerr << "ptotals: write error\n";
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    try {
        return run(argc > 1 ? argv[1] : "data/access.log");
    } catch (const std::exception &e) {
        std::cerr << "ptotals: " << e.what() << '\n';
        return 1;
    }
}
