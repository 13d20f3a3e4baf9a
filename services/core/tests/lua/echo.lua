-- KEYS: any. ARGV: text. Reply: the text.
return ARGV[1]
