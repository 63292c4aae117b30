-- Lists, as JSON: the addresses and CIDR ranges that an application may authenticate from, empty for all; the keys of the labels
-- that suites and gateways see; and what is reported instead of refused. An older program keeps them, and limits no addresses.
ALTER TABLE applications ADD COLUMN source_addresses TEXT NOT NULL DEFAULT '[]' CHECK (json_type(source_addresses) = 'array');
ALTER TABLE applications ADD COLUMN public_labels TEXT NOT NULL DEFAULT '[]' CHECK (json_type(public_labels) = 'array');
ALTER TABLE applications ADD COLUMN report_only TEXT NOT NULL DEFAULT '[]' CHECK (json_type(report_only) = 'array');
