"""What happens in a turn, in lines that every terminal shows alike: drafts, refusals, retries."""
