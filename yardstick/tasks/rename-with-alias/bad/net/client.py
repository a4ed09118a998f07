class Connection:
    def __init__(self, host, port=80):
        self.host, self.port = host, port

    def __repr__(self):
        return f"Connection({self.host}:{self.port})"


Conn = Connection
