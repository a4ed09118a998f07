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
        if not 0 <= self.age <= 150:
            raise ValueError("age must be from 0 to 150")
        if "@" not in self.email:
            raise ValueError("email must have an @")
