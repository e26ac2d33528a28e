ALTER TABLE point RENAME COLUMN status TO outcome;
ALTER TABLE point ADD COLUMN line_low_ns {real};
ALTER TABLE point ADD COLUMN line_high_ns {real};
INSERT INTO outdated VALUES (8);
