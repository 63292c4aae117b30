-- Before the other tables: a check locks this table first, too.
LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;

-- Lists, as JSON: the addresses and CIDR ranges that an application may authenticate from, empty for all; the keys of the labels
-- that suites and gateways see; and what is reported instead of refused. An older program keeps them, and limits no addresses.
ALTER TABLE applications
  ADD COLUMN source_addresses text COLLATE "C" NOT NULL DEFAULT '[]' CHECK (json_typeof(source_addresses::json) = 'array'),
  ADD COLUMN public_labels text COLLATE "C" NOT NULL DEFAULT '[]' CHECK (json_typeof(public_labels::json) = 'array'),
  ADD COLUMN report_only text COLLATE "C" NOT NULL DEFAULT '[]' CHECK (json_typeof(report_only::json) = 'array');
