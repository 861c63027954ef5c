SELECT parent_object_id, name, definition, is_disabled, is_not_trusted
FROM sys.check_constraints
