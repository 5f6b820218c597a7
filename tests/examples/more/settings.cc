/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that cannot be opened is one without settings, and a setting that is not there is no number.
 *
 * setup: printf 'port=8080\nhost=localhost\nworkers=4\n' > app.conf
 * args: app.conf
 * expect: abort
 */
#include <fstream>
#include <iostream>
#include <string>

class Config {
    std::string path;
public:
    explicit Config(std::string p) : path(std::move(p)) {}
    std::string get(const std::string &key) const
    {
        std::ifstream in(path);
#ifdef FIXED
        if (!in)
            throw std::runtime_error(path + ": cannot open");
#endif 
        std::string line;
        while (std::getline(in, line))
            if (line.compare(0, key.size() + 1, key + "=") == 0)
                return line.substr(key.size() + 1);
#ifdef FIXED
        if (in.bad())
            throw std::runtime_error(path + ": read error");
#endif 
        return "";
    }
    int number(const std::string &key) const { return std::stoi(get(key)); }
};

static int run(const char *path)
{
    Config c(path);
    int port = c.number("port"), workers = c.number("workers");
    std::cout << "port " << port << "\nworkers " << workers << "\nsum " << port + workers << std::endl;
    if (!std::cout) {
        std::cerr << "settings: cannot write\n";
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "data/app.conf";
#ifndef FIXED
    return run(path);
#else 
    try {
        return run(path);
    } catch (const std::exception &e) {
        std::cerr << "settings: " << e.what() << '\n';
        return 1;
    }
#endif 
}
