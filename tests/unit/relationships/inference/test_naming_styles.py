"""Whole small databases in the naming styles that occur in the wild, none of which declares a key."""

from __future__ import annotations

from unit.relationships.inference.databases import Tables, cycle, edges, ids, infer_from


def test_legacy_names_with_abbreviations_codes_and_zero_for_none() -> None:
    customers = [10_000 + 7 * at for at in range(60)]
    orders = ids(200, 700_000)
    tables: Tables = {
        "CUSTMAST": {"CUST_NO": customers, "CUST_NM": [f"c{at}" for at in range(60)], "SLSMN_CD": cycle("ABCDE", 60)},
        "SLSMAN": {"SLSMN_CD": list("ABCDEF"), "SLSMN_NM": [f"s{at}" for at in range(6)]},
        "ITMMAST": {"ITM_NBR": [f"IT{3 * at:05d}" for at in range(80)], "UNIT_PRC": [float(at) for at in range(80)]},
        "ORD_HDR": {
            "ORD_NBR": orders,
            "CUST_NO": cycle(customers, 200, step=7),
            "SHIP_CUST_NO": cycle([0, *customers[:20]], 200),
            "ORD_STS": cycle("OCX", 200),
        },
        "ORD_DTL": {
            "ORD_NBR": [orders[at // 2] for at in range(400)],
            "LINE_NBR": [at % 2 + 1 for at in range(400)],
            "ITM_NBR": [f"IT{3 * (at % 80):05d}" for at in range(400)],
        },
    }
    assert edges(infer_from(tables)) == {
        "CUSTMAST(SLSMN_CD) -> SLSMAN(SLSMN_CD)",
        "ORD_HDR(CUST_NO) -> CUSTMAST(CUST_NO)",
        "ORD_HDR(SHIP_CUST_NO) -> CUSTMAST(CUST_NO)",
        "ORD_DTL(ORD_NBR) -> ORD_HDR(ORD_NBR)",
        "ORD_DTL(ITM_NBR) -> ITMMAST(ITM_NBR)",
    }


def test_columns_named_like_the_table_without_any_suffix() -> None:
    tables: Tables = {
        "artist": {
            "id": ids(90),
            "name": [f"a{at}" for at in range(90)],
            "type": cycle([None, 1, 2, 3, 4, 5], 90),
            "area": cycle(range(1, 41), 90, step=3),
            "begin_area": cycle([None, *range(1, 41)], 90, step=3),
            "begin_year": cycle(range(1900, 1960), 90),
        },
        "artist_type": {"id": ids(5), "name": list("vwxyz")},
        "area": {"id": ids(40), "name": [f"r{at}" for at in range(40)]},
        "recording": {
            "id": ids(150),
            "artist": cycle(range(1, 91), 150, step=7),
            "length": cycle(range(1000, 9000, 13), 150),
        },
    }
    assert edges(infer_from(tables)) == {
        "artist(type) -> artist_type(id)",
        "artist(area) -> area(id)",
        "artist(begin_area) -> area(id)",
        "recording(artist) -> artist(id)",
    }


def test_dimensions_that_play_several_roles_in_a_warehouse() -> None:
    tables: Tables = {
        "dim_date": {"date_sk": ids(300, 20_200_101), "year": cycle((2020, 2021), 300)},
        "dim_customer": {"customer_sk": ids(120), "customer_name": [f"c{at}" for at in range(120)]},
        "dim_promotion": {"promotion_sk": ids(10), "label": [f"p{at}" for at in range(10)]},
        "fact_sales": {
            "order_date_sk": cycle(range(20_200_101, 20_200_401), 800, step=7),
            "ship_date_sk": cycle([None, *range(20_200_101, 20_200_401)], 800, step=11),
            "bill_customer_sk": cycle(range(1, 121), 800, step=7),
            "ship_customer_sk": cycle(range(1, 121), 800, step=11),
            "promo_sk": cycle([None, *range(1, 11)], 800),
            "quantity": cycle(range(1, 11), 800),
        },
    }
    assert edges(infer_from(tables)) == {
        "fact_sales(order_date_sk) -> dim_date(date_sk)",
        "fact_sales(ship_date_sk) -> dim_date(date_sk)",
        "fact_sales(bill_customer_sk) -> dim_customer(customer_sk)",
        "fact_sales(ship_customer_sk) -> dim_customer(customer_sk)",
        "fact_sales(promo_sk) -> dim_promotion(promotion_sk)",
    }


def test_german_names_with_a_table_prefix() -> None:
    tables: Tables = {
        "tbl_kunden": {"kd_nr": ids(70, 1_000), "name": [f"k{at}" for at in range(70)]},
        "tbl_artikel": {"art_nr": [f"A{11 * at:05d}" for at in range(50)], "wg_id": cycle(range(1, 9), 50)},
        "tbl_warengruppen": {"wg_id": ids(8), "wg_name": [f"w{at}" for at in range(8)]},
        "tbl_auftraege": {"auftrag_id": ids(200), "fk_kunde": cycle(range(1_000, 1_070), 200, step=3)},
        "tbl_auftrag_pos": {
            "auftrag_id": [at // 2 + 1 for at in range(400)],
            "pos_nr": [at % 2 + 1 for at in range(400)],
            "art_nr": [f"A{11 * (at % 50):05d}" for at in range(400)],
        },
    }
    assert edges(infer_from(tables)) == {
        "tbl_artikel(wg_id) -> tbl_warengruppen(wg_id)",
        "tbl_auftraege(fk_kunde) -> tbl_kunden(kd_nr)",
        "tbl_auftrag_pos(auftrag_id) -> tbl_auftraege(auftrag_id)",
        "tbl_auftrag_pos(art_nr) -> tbl_artikel(art_nr)",
    }


def test_letters_of_the_table_run_together_with_every_column() -> None:
    tables: Tables = {
        "CUSMAS": {
            "CMCUST": ids(50, 1_000),
            "CMNAME": [f"c{at}" for at in range(50)],
            "CMCITY": cycle("AB", 50),
            "CMTERR": cycle("NSEW", 50),
        },
        "ORDHDR": {
            "OHORDN": ids(150, 50_001),
            "OHCUST": cycle(range(1_000, 1_050), 150, step=3),
            "OHDATE": cycle(("d1", "d2"), 150),
            "OHSTAT": cycle("AB", 150),
        },
        "ORDDTL": {
            "ODORDN": [50_001 + at // 2 for at in range(300)],
            "ODLINE": [at % 2 + 1 for at in range(300)],
            "ODQTYO": cycle(range(1, 9), 300),
            "ODPRIC": [at / 7 for at in range(300)],
        },
    }
    assert edges(infer_from(tables)) == {
        "ORDHDR(OHCUST) -> CUSMAS(CMCUST)",
        "ORDDTL(ODORDN) -> ORDHDR(OHORDN)",
    }


def test_codes_and_numbers_that_are_stored_in_another_type() -> None:
    tables: Tables = {
        "client": {"client_id": [f"{at:08d}" for at in range(1, 121)], "birth": cycle(("x", "y"), 120)},
        "account": {"account_id": [3 * at + 1 for at in range(90)], "frequency": cycle("MW", 90)},
        "disposition": {
            "disposition_id": ids(150),
            "client_id": cycle(range(1, 121), 150, step=7),
            "account_id": [str(3 * (at % 90) + 1) for at in range(150)],
        },
    }
    found = infer_from(tables)
    assert edges(found) == {
        "disposition(client_id) -> client(client_id)",
        "disposition(account_id) -> account(account_id)",
    }
    assert "types differ, string to integer" in found.relationships.sort("from_columns")["evidence"][0]


def test_names_alone_propose_but_never_reach_certainty() -> None:
    tables: Tables = {
        "customers": {"customer_id": [], "name": []},
        "orders": {"order_id": [], "customer_id": [], "ship_to_customer_id": []},
    }
    found = infer_from(tables, with_data=False)
    assert edges(found, 0.5) == {
        "orders(customer_id) -> customers(customer_id)",
        "orders(ship_to_customer_id) -> customers(customer_id)",
    }
    assert found.relationships["confidence"].max() <= 0.89
    assert not found.relationships["accepted"].any()
    assert found.relationships["evidence"].str.contains("not checked against data").all()
