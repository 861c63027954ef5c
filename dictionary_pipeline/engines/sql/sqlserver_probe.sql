SELECT
  (SELECT CONCAT(COUNT_BIG(*), N'.', CHECKSUM_AGG(CHECKSUM(object_id, modify_date)))
   FROM sys.objects WHERE type IN ('U', 'V', 'F', 'PK', 'UQ', 'C', 'D', 'SN') AND is_ms_shipped = 0),
  (SELECT CONCAT(COUNT_BIG(*), N'.', CHECKSUM_AGG(CHECKSUM(major_id, minor_id, CAST(value AS NVARCHAR(4000)))))
   FROM sys.extended_properties WHERE class = 1 AND name = N'MS_Description')
