-- Words and dice for the made-up rows. Everything here is temporary: nothing of it stays in the file.

-- The n-sided die for one key and purpose. MD5 of the key, so that every build and every version of
-- the engine throws the same number.
CREATE TEMP MACRO roll(key, purpose, n) AS (md5_number_lower(concat(key, ':', purpose)) % n)::INTEGER;
CREATE TEMP MACRO pick(words, key, purpose) AS words[1 + roll(key, purpose, len(words))];
-- A number below n that prefers small ones, as best sellers and regular customers do.
CREATE TEMP MACRO skewed(key, purpose, n) AS
    ((roll(key, purpose, n)::BIGINT * roll(key, purpose || '2', n)) // n)::INTEGER;

CREATE TEMP MACRO numbers(first, last) AS TABLE SELECT i::INTEGER AS n FROM range(first, last + 1) AS whole(i);

SET VARIABLE first_names = [
    'Aoife', 'Adam', 'Amira', 'Ben', 'Camille', 'Carlos', 'Chiara', 'Daniel', 'Elena', 'Emma', 'Erik', 'Fatima',
    'Finn', 'Greta', 'Hannah', 'Hugo', 'Ines', 'Jakub', 'Jonas', 'Julia', 'Karim', 'Laura', 'Leon', 'Lucía', 'Maeve',
    'Marek', 'Marta', 'Mehmet', 'Mia', 'Noah', 'Nora', 'Oliver', 'Paula', 'Priya', 'Rosa', 'Sanne', 'Sean', 'Sofia',
    'Søren', 'Tom', 'Yara', 'Zoë'
];
SET VARIABLE last_names = [
    'Andersson', 'Bauer', 'Becker', 'Byrne', 'Carter', 'Conti', 'Costa', 'de Vries', 'Dubois', 'Evans', 'Fischer',
    'García', 'Hughes', 'Jansen', 'Jensen', 'Keller', 'Khan', 'Kowalski', 'Larsen', 'Lefèvre', 'López', 'Martin',
    'Meyer', 'Moreau', 'Murphy', 'Nowak', 'O''Brien', 'O''Neill', 'Patel', 'Peeters', 'Ricci', 'Romano', 'Rossi',
    'Santos', 'Schmidt', 'Silva', 'Smit', 'Smith', 'Taylor', 'Vogel', 'Walsh', 'Weber', 'Wilson', 'Yılmaz'
];
SET VARIABLE streets = [
    'Abbey Street', 'Bahnhofstraße', 'Birch Lane', 'Calle Mayor', 'Canal Walk', 'Church Road', 'Gartenweg',
    'High Street', 'Keizersgracht', 'Kirchplatz', 'Lindenallee', 'Market Square', 'Mill Road', 'Orchard Close',
    'Quay Street', 'Rue de la Paix', 'Rue des Lilas', 'Station Road', 'Via Roma', 'Victoria Terrace'
];
SET VARIABLE places = [
    {'city': 'Dublin', 'country': 'IE'}, {'city': 'Galway', 'country': 'IE'}, {'city': 'London', 'country': 'GB'},
    {'city': 'Leeds', 'country': 'GB'}, {'city': 'Edinburgh', 'country': 'GB'}, {'city': 'Berlin', 'country': 'DE'},
    {'city': 'Hamburg', 'country': 'DE'}, {'city': 'München', 'country': 'DE'}, {'city': 'Amsterdam', 'country': 'NL'},
    {'city': 'Utrecht', 'country': 'NL'}, {'city': 'Paris', 'country': 'FR'}, {'city': 'Lyon', 'country': 'FR'},
    {'city': 'Bruxelles', 'country': 'BE'}, {'city': 'Zürich', 'country': 'CH'}, {'city': 'København', 'country': 'DK'},
    {'city': 'Madrid', 'country': 'ES'}
];
SET VARIABLE colours = ['black', 'charcoal', 'forest green', 'ochre', 'navy', 'rust', 'sand', 'slate blue'];
SET VARIABLE trails = [
    'Alder', 'Arête', 'Bracken', 'Cairn', 'Corrie', 'Drift', 'Fell', 'Fjord', 'Gorse', 'Heron', 'Juniper', 'Kestrel',
    'Larch', 'Moraine', 'Nordkapp', 'Osprey', 'Pine', 'Ridgeway', 'Scree', 'Tarn'
];
