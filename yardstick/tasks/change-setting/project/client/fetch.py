from urllib.request import urlopen


def fetch(settings, opener=urlopen):
    return opener(settings.url, timeout=settings.timeout)
