"""Models in files of one's own, served by llama.cpp in a child process."""
