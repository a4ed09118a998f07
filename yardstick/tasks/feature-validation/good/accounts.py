from dataclasses import dataclass


@dataclass
class User:
    name: str
    age: int
    email: str

    def __post_init__(self):
        self.name = self.name.strip()
        if not self.name:
            raise ValueError("name must not be empty")
        if type(self.age) is not int or not 0 <= self.age <= 150:
            raise ValueError("age must be a whole number from 0 to 150")
        user, at, host = self.email.partition("@")
        if not (user and at and host) or "@" in host:
            raise ValueError("email must have one @ with something on both sides")
