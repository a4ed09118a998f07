"""Commands about what nebula has to work with: settings, models, skills, this machine."""
