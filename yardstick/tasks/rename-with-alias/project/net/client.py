class Conn:
    def __init__(self, host, port=80):
        self.host, self.port = host, port

    def __repr__(self):
        return f"Conn({self.host}:{self.port})"
