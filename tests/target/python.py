# SPDX-License-Identifier: Apache-2.0
# Python: errors of the system arrive as exceptions, also in modules that are loaded later.
#
# @run 1 0 -f 'unlink:EPERM when call==1' -- unlink
# @run 1 0 -f 'socket:EMFILE when call==1' -- socket
# @run 1 0 -f 'mkdir:ENOSPC when call==1' -- mkdir
# @run - 0 -f 'pthread_create:EAGAIN when call>=1' -- thread
import errno
import os
import sys


def unlink():
    os.unlink("/nonexistent")


def socket():
    import socket as s
    s.socket()


def mkdir():
    os.mkdir("new")


def thread():
    import threading
    try:
        threading.Thread(target=print).start()
    except RuntimeError as e:
        raise OSError(errno.EAGAIN, "") from e


what = sys.argv[1]
wanted = {"unlink": errno.EPERM, "socket": errno.EMFILE, "mkdir": errno.ENOSPC, "thread": errno.EAGAIN}[what]
try:
    globals()[what]()
except OSError as e:
    sys.exit(0 if e.errno == wanted else 1)
sys.exit(1)
