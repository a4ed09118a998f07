from net.client import Connection


def connect_all(hosts):
    return [Connection(host) for host in hosts]
