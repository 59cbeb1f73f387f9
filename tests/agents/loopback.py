"""Brings loopback up in a fresh network, and becomes the program that is named."""

import fcntl
import os
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    asked = struct.pack("16sh14x", b"lo", 0)
    (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
os.execv(sys.argv[1], sys.argv[1:])
