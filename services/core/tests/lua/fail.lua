-- Fails as a script with a mistake does.
return redis.call('HGET', KEYS[1])
