from net.client import Conn


def connect_all(hosts):
    return [Conn(host) for host in hosts]
