-- Rules that the store keeps in parts, each packed under a revision that only grows: what a file
-- sets, and what operators override. Written over the newest that Redis or the caller has seen.
-- KEYS: meta. ARGV: now, the epoch to take if there is none, the newest file that the caller has
-- seen, as its revision and packed rules (0 and empty: none); then what the operation says. Reply:
-- none; a part sets `is_known` and `file`. Needs entity.lua.
--
-- First the store takes what the caller has seen and it lacks itself: it was emptied, or is an
-- older replica. The first rules give the entity its epoch. One without an epoch is not known,
-- whatever else its meta hash has: of that only rules stay, if the caller has seen no newer ones.
local is_known -- the store held rules for the entity when the script began
local file -- the part that a file sets

-- The newer of what the store holds of a part and what the caller has seen of it. A part that
-- neither has seen has no revision.
local function read_part(name, seen, packed)
  local kept = call('HMGET', META, name .. '_revision', name)
  local revision = tonumber(kept[1])
  local part = { name = name, revision = revision, packed = kept[2] }
  if is_known then part.kept = revision end
  if tonumber(seen) > (revision or 0) then part.revision, part.packed = tonumber(seen), packed end
  return part
end

local function read_file()
  is_known = load_meta({})
  if not is_known then m = { offset = 0, last = 0, tick = math.huge } end
  read_clock()
  file = read_part('file', ARGV[3], ARGV[4])
end

-- The store's clock, unless that went back: later writes have the greater revision also after a
-- loss.
local function next_revision(last) return math.max(wall, last + 1) end

-- Puts the rules that ARGV names from there on into `rules`; whether one of them differs.
local function put_rules(rules, from)
  local differs = false
  for i = from, #ARGV, 2 do
    if rules[ARGV[i]] ~= ARGV[i + 1] then rules[ARGV[i]], differs = ARGV[i + 1], true end
  end
  return differs
end

-- The file that ARGV names from there on counts only if no other is known, and then at revision 0.
local function seed_file(from)
  if file.revision then return end
  local rules = {}
  put_rules(rules, from)
  file.revision, file.packed = 0, cmsgpack.pack(rules)
end

-- The file that ARGV names from there on counts where it differs from the newest, or where that
-- only seeded the store.
local function apply_file(from)
  local revision = file.revision or 0
  local rules = file.revision and cmsgpack.unpack(file.packed) or {}
  if put_rules(rules, from) or revision == 0 then
    file.revision, file.packed = next_revision(revision), cmsgpack.pack(rules)
  end
end

-- Whether the store holds an older part, or none.
local function is_newer(part) return part.revision ~= part.kept end

local function write_part(part)
  write_even_if_full()
  local revision = string.format('%.0f', part.revision)
  call('HSET', META, part.name .. '_revision', revision, part.name, part.packed)
end

-- Gives an entity that the store did not know its epoch and its clock.
local function give_epoch()
  if is_known then return end
  write_even_if_full()
  call('UNLINK', META)
  call('HSET', META, 'epoch', ARGV[2], 'offset', 0, 'tick', wall, 'last', wall)
end
