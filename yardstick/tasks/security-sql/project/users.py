import sqlite3


def open_db():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE users (name TEXT)")
    return db


def add(db, name):
    db.execute("INSERT INTO users VALUES (?)", (name,))


def find(db, text):
    """The names that contain the text, in order."""
    rows = db.execute(f"SELECT name FROM users WHERE name LIKE '%{text}%' ORDER BY name")
    return [name for (name,) in rows]
