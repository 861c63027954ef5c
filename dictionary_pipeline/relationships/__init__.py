"""Keys, relationships, table roles, view lineage and the join graph."""
